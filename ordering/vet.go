package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// Finding is something that vetting found in a stream.
type Finding struct {
	// Problem tells faults, which stop a plan or surely are mistakes, from
	// remarks.
	Problem bool
	Text    string // one line, or several for a cycle
}

// Vet looks for all that is wrong or doubtful with a stream: whatever stops a
// plan; custom resources that the stream's own CustomResourceDefinitions refuse;
// references to what the stream does not hold, as problems where a
// resource of the stream has nearly that name; inferred edges that had to be
// dropped; layers in a row that could be one.
func Vet(resources []Resource, options Options) []Finding {
	b, err := newBuilder(resources, options)
	err = errors.Join(options.idle(resources), err, b.unserved())
	var found []Finding
	for _, fault := range Faults(err) {
		found = append(found, Finding{true, fault.Error()})
	}
	found = append(found, b.vetFit()...)
	if !options.Incomplete {
		found = append(found, b.vetReferences()...)
	}
	if err == nil {
		plan := b.plan()
		for _, fault := range Faults(plan.unsafeStacks(options.Stacks)) {
			found = append(found, Finding{true, fault.Error()})
		}
		for _, note := range plan.Notes {
			found = append(found, Finding{Text: note})
		}
		found = append(found, vetDropped(plan.Dropped)...)
		found = append(found, b.vetLast(plan)...)
		found = append(found, b.vetLayers()...)
		found = append(found, b.vetAppOfApps()...)
	}
	slices.SortStableFunc(found, func(x, y Finding) int {
		switch {
		case x.Problem == y.Problem:
			return 0
		case x.Problem:
			return -1
		}
		return 1
	})
	return found
}

// vetFit reports custom resources that their own CustomResourceDefinitions refuse.
func (b *builder) vetFit() []Finding {
	unfit := b.unfit()
	var found []Finding
	for _, r := range b.resources {
		if err := unfit[r.ID]; err != nil {
			found = append(found, Finding{true, located(r) + ": " + err.Error()})
		}
	}
	return found
}

// Faults takes joined errors apart.
func Faults(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, Faults(e)...)
		}
		return out
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// dangling is a resource that manifests name and the stream does not hold.
type dangling struct {
	missing
	more int // further resources that name it
}

// vetReferences reports what manifests name and the stream does not hold.
func (b *builder) vetReferences() []Finding {
	var all []*dangling
	byID := map[object.ID]*dangling{}
	for _, m := range b.missingReferences() {
		d, ok := byID[m.id]
		switch {
		case isAlwaysThere(m.id):
		case !ok:
			byID[m.id] = &dangling{missing: m}
			all = append(all, byID[m.id])
		case d.at != m.at:
			d.more++
		}
	}
	var found []Finding
	for n, d := range all {
		if f, worth := b.vetReference(d, n < maxSuggestions); worth {
			found = append(found, f)
		}
	}
	return found
}

// vetReference reports one of them. What is merely helpful, and may well be in
// the cluster, is not worth a word unless it looks misspelt.
func (b *builder) vetReference(d *dangling, search bool) (f Finding, worth bool) {
	who := located(b.resources[d.at])
	if d.more > 0 {
		who += fmt.Sprintf(" and %s", counted(d.more, "other", "others"))
	}
	f.Text = fmt.Sprintf("%s: %s (%s), which the stream does not hold", who, d.why.Detail, d.why.Rule)
	if search {
		near, ok := nearestID(d.id, b.resources, b.resources[d.at].ID)
		if f.Problem = ok && misspelt(d.id, near); f.Problem {
			f.Text += "; did you mean " + near.String() + "?"
			return f, true
		}
	}
	f.Text += ": it must be in the cluster already, or come from elsewhere"
	return f, d.strength >= required
}

// misspelt tells whether a reference was surely meant for another name: one
// with two other letters at most, or with the hash that kustomize appends.
func misspelt(written, near object.ID) bool {
	if written.GroupKind() != near.GroupKind() || written.Namespace != near.Namespace || len(written.Name) < 4 {
		return false
	}
	letters, _ := distance(written.Name, near.Name)
	const hash = len("-0123456789")
	return letters <= 2 || letters == hash && strings.HasPrefix(near.Name, written.Name+"-")
}

// isAlwaysThere tells of resources that every cluster has.
func isAlwaysThere(id object.ID) bool {
	switch id.GroupKind() {
	case "Namespace":
		return id.Name == "default" || strings.HasPrefix(id.Name, "kube-")
	case "ServiceAccount":
		return id.Name == "default"
	case "ConfigMap":
		return id.Name == "kube-root-ca.crt"
	case "PriorityClass.scheduling.k8s.io":
		return strings.HasPrefix(id.Name, "system-")
	case "ClusterRole.rbac.authorization.k8s.io":
		return strings.HasPrefix(id.Name, "system:") || slices.Contains([]string{"admin", "cluster-admin", "edit", "view"}, id.Name)
	}
	return false
}

// vetDropped reports the inferred edges that the plan does without. Those to
// policies, of which one may be for every workload of a namespace, are one remark.
func vetDropped(dropped []Dropped) []Finding {
	var found []Finding
	var policies []Dropped
	for _, d := range dropped {
		if d.Need.Why.Rule == rulePolicy {
			policies = append(policies, d)
			continue
		}
		found = append(found, Finding{Text: d.words() + ": the plan does without that edge"})
	}
	switch len(policies) {
	case 0:
	case 1:
		found = append(found, Finding{Text: policies[0].words() + ": the plan does without that edge"})
	default:
		found = append(found, Finding{Text: fmt.Sprintf("%s; and %s for policies: the plan does without these edges", policies[0].words(), counted(len(policies)-1, "other edge", "other edges"))})
	}
	return found
}

// words say which edge contradicts which others.
func (d Dropped) words() string {
	var road []string
	for _, e := range d.Because {
		road = append(road, e.String())
	}
	return fmt.Sprintf("%s needs %s (%s), but %s", d.ID, d.Need.ID, d.Need.Why, strings.Join(road, ", and "))
}

// vetLast reports workloads that go behind all layers because no selector matches
// them and nothing is known to need them. Usually one was forgotten.
func (b *builder) vetLast(plan *Plan) []Finding {
	if b.frame != FrameStamps || len(plan.Waves) < 2 {
		return nil
	}
	var found []Finding
	for _, s := range plan.Steps {
		at := b.standing[b.byID[s.ID]]
		if s.Wave == len(plan.Waves)-1 && !s.Floats() && (at == unmatched || at == unplaced) && podSpec(b.resources[b.byID[s.ID]].Object) != nil {
			found = append(found, Finding{Text: located(b.resources[b.byID[s.ID]]) + " goes last: no selector matches it, and nothing is known to depend on it; if other resources do, select it in a layer before theirs"})
		}
	}
	return found
}

// vetLayers reports layers in a row of which nothing in the later can depend on
// anything in the earlier.
func (b *builder) vetLayers() []Finding {
	members := b.membersOf()
	between := b.roadsBetween()
	var found []Finding
	for s, set := range b.sets {
		if set.kind != Stamped && set.kind != ArgoWave && set.kind != HelmGroup {
			continue
		}
		for _, barrier := range set.after {
			before := barrier.Layer
			if _, linked := between[[2]int{before, s}]; linked || len(members[s]) == 0 || len(members[before]) == 0 {
				continue
			}
			if b.inert(members[s]) && b.inert(members[before]) {
				found = append(found, Finding{Text: fmt.Sprintf("%s and %s could be one: what they hold does nothing by itself, and nothing in the second names anything in the first", b.sets[before].title(), set.title())})
			}
		}
	}
	return found
}

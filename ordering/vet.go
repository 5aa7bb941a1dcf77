package ordering

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/crdcheck"
	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/object"
)

// Finding is one result of Vet.
type Finding struct {
	// Problem marks errors, which prevent a plan or are almost certainly
	// mistakes; others are remarks.
	Problem bool
	Text    string // one line, or several for a cycle
}

// Vet returns everything that is wrong or doubtful in a stream: all errors of
// Build; custom resources that the stream's own CRDs reject; references to
// resources that are not in the stream, which are problems if a similar name
// exists; inferred edges that were dropped; adjacent layers that could be merged;
// sync waves on Argo CD's Applications. Problems come first.
func Vet(resources []references.Resource, options Options) []Finding {
	b, err := newBuilder(resources, options)
	err = errors.Join(options.Idle(resources), err, crdcheck.Unserved(b.Index, options.Excluded, options.Serves))
	var found []Finding
	for _, fault := range FlattenErrors(err) {
		found = append(found, Finding{true, fault.Error()})
	}
	found = append(found, b.vetSchemas()...)
	if !options.Incomplete {
		found = append(found, b.vetReferences()...)
	}
	if err == nil {
		plan := b.plan()
		for _, fault := range FlattenErrors(plan.unsafeStacks(options.Stacks)) {
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

// vetSchemas reports custom resources that their own CRDs reject.
func (b *builder) vetSchemas() []Finding {
	unfit := crdcheck.Rejected(b.Index)
	var found []Finding
	for _, r := range b.Resources {
		if err := unfit[r.ID]; err != nil {
			found = append(found, Finding{true, r.Located() + ": " + err.Error()})
		}
	}
	return found
}

// FlattenErrors returns the single errors of joined ones, at any depth and in
// order; nil for nil.
func FlattenErrors(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, FlattenErrors(e)...)
		}
		return out
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// unresolvedReference is a referenced resource that is not in the stream.
type unresolvedReference struct {
	references.Missing
	others int // additional resources that refer to it
}

// vetReferences reports references to resources that are not in the stream.
func (b *builder) vetReferences() []Finding {
	var all []*unresolvedReference
	byID := map[object.ID]*unresolvedReference{}
	for _, m := range b.MissingReferences() {
		d, ok := byID[m.ID]
		switch {
		case existsInEveryCluster(m.ID):
		case !ok:
			byID[m.ID] = &unresolvedReference{Missing: m}
			all = append(all, byID[m.ID])
		case d.At != m.At:
			d.others++
		}
	}
	var found []Finding
	for n, d := range all {
		if f, worth := b.vetReference(d, n < declared.MaxSuggestions); worth {
			found = append(found, f)
		}
	}
	return found
}

// vetReference reports one such reference. worth is false for optional
// dependencies that may well be in the cluster, unless the name looks misspelt.
func (b *builder) vetReference(d *unresolvedReference, search bool) (f Finding, worth bool) {
	who := b.Resources[d.At].Located()
	if d.others > 0 {
		who += fmt.Sprintf(" and %s", plain.Count(d.others, "other"))
	}
	f.Text = fmt.Sprintf("%s: %s (%s), which is not in the stream", who, d.Why.Detail, d.Why.Rule)
	if search {
		near, ok := b.Nearest(d.ID, b.Resources[d.At].ID)
		if f.Problem = ok && isMisspelling(d.ID, near); f.Problem {
			f.Text += "; did you mean " + near.String() + "?"
			return f, true
		}
	}
	f.Text += ": it must already exist in the cluster, or be created outside the stream"
	return f, d.Strength >= graph.Required
}

// isMisspelling reports whether a reference most likely means another name: one with
// at most two different letters, or with the hash suffix that kustomize
// appends.
func isMisspelling(written, near object.ID) bool {
	if written.GroupKind() != near.GroupKind() || written.Namespace != near.Namespace || len(written.Name) < 4 {
		return false
	}
	letters, _ := nearest.Distance(written.Name, near.Name)
	const hash = len("-0123456789")
	return letters <= 2 || letters == hash && strings.HasPrefix(near.Name, written.Name+"-")
}

// existsInEveryCluster reports whether every cluster has the resource.
func existsInEveryCluster(id object.ID) bool {
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

// vetDropped reports the inferred edges that were dropped. Edges from policies,
// which may affect every workload of a namespace, share one finding.
func vetDropped(dropped []Dropped) []Finding {
	var found []Finding
	var policies []Dropped
	for _, d := range dropped {
		if d.Need.Why.Rule == graph.RulePolicy {
			policies = append(policies, d)
			continue
		}
		found = append(found, Finding{Text: d.describe() + ": the plan ignores that edge"})
	}
	switch len(policies) {
	case 0:
	case 1:
		found = append(found, Finding{Text: policies[0].describe() + ": the plan ignores that edge"})
	default:
		found = append(found, Finding{Text: fmt.Sprintf("%s; and %s for policies: the plan ignores these edges", policies[0].describe(), plain.Count(len(policies)-1, "other edge"))})
	}
	return found
}

// describe describes the dropped edge and the edges that contradict it.
func (d Dropped) describe() string {
	var road []string
	for _, e := range d.Because {
		road = append(road, e.String())
	}
	return fmt.Sprintf("%s needs %s (%s), but %s", d.ID, d.Need.ID, d.Need.Why, strings.Join(road, ", and "))
}

// vetLast reports workloads that come after all layers because no selector
// matches them and they have no known dependents. Usually this is an oversight.
func (b *builder) vetLast(plan *Plan) []Finding {
	if b.OrderSource != OrderSourceStamps || len(plan.Waves) < 2 {
		return nil
	}
	var found []Finding
	for _, s := range plan.Steps {
		at := b.Placements[b.ByID[s.ID]]
		if s.Wave == len(plan.Waves)-1 && !s.PlacedByDependents() && (at == declared.Unmatched || at == declared.Unplaced) && references.PodSpec(b.Resources[b.ByID[s.ID]].Object) != nil {
			found = append(found, Finding{Text: b.Resources[b.ByID[s.ID]].Located() + " goes last: no selector matches it and no known resource depends on it; if one does, select it in an earlier layer"})
		}
	}
	return found
}

// vetLayers reports adjacent layers where nothing in the later one can depend
// on the earlier one.
func (b *builder) vetLayers() []Finding {
	members := b.membersOf()
	between := b.pathsBetween()
	var found []Finding
	for s, set := range b.Sets {
		if set.Kind != Stamped && set.Kind != ArgoWave && set.Kind != HelmGroup {
			continue
		}
		for _, barrier := range set.After {
			before := barrier.Layer
			if _, linked := between[[2]int{before, s}]; linked || len(members[s]) == 0 || len(members[before]) == 0 {
				continue
			}
			if b.isInert(members[s]) && b.isInert(members[before]) {
				found = append(found, Finding{Text: fmt.Sprintf("%s and %s could be merged: their resources are inert, and nothing in the second refers to anything in the first", b.Sets[before].Title(), set.Title())})
			}
		}
	}
	return found
}

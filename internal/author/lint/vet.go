package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// Finding is one result of Check.
type Finding struct {
	// Problem marks errors, which prevent a plan or are almost certainly
	// mistakes; others are remarks.
	Problem bool
	Text    string // one line, or several for a cycle
}

// Check returns all faults and doubtful parts of a stream: all errors of planner.Build; custom
// resources that the stream's own CRDs reject, and malformed CRDs; references to resources that are
// not in the stream, which are problems if a similar name exists; and if there is a plan, its
// notes, inferred edges that were dropped, adjacent layers that could be merged, and sync waves on
// Argo CD's Applications. Problems come first.
func Check(resources []ordering.Resource, options ordering.Options) []Finding {
	needs, _ := edges.Find(resources, options) // its error is one of Build
	s := stream{needs}
	plan, err := planner.Build(resources, options)
	if plan != nil {
		err = plan.Err()
	}
	var found []Finding
	for _, fault := range ordering.FlattenErrors(err) {
		found = append(found, Finding{true, fault.Error()})
	}
	found = append(found, rejected(s.Index)...)
	if !options.Incomplete {
		found = slices.Concat(found, s.references(), s.undefinedKinds())
	}
	if plan != nil {
		for _, note := range plan.Notes {
			found = append(found, Finding{Text: note})
		}
		found = slices.Concat(found, dropped(plan.Dropped), s.last(plan), s.layers(), s.appOfApps())
	}
	remarks := slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Problem })
	return append(slices.DeleteFunc(found, func(f Finding) bool { return !f.Problem }), remarks...)
}

type stream struct{ *edges.Dependencies }

// Rejected returns the findings of Check about resources that the API server does not create:
// custom resources that their own CRDs reject, malformed CRDs, and certain errors of built-in kinds.
// The order of the resources does not matter.
func Rejected(resources []ordering.Resource, condition ordering.Condition) []Finding {
	sorted := slices.SortedFunc(slices.Values(resources), func(a, b ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	return rejected(references.NewIndex(sorted, condition))
}

func rejected(ix *references.Index) []Finding {
	unfit, malformed := check.Rejected(ix), check.Malformed(ix)
	var found []Finding
	for _, r := range ix.Resources {
		if err := errors.Join(unfit[r.ID], malformed[r.ID], check.Native(r.ID, r.Object)); err != nil {
			found = append(found, Finding{true, r.Located() + ": " + err.Error()})
		}
	}
	return found
}

// unresolvedReference is a referenced resource that is not in the stream.
type unresolvedReference struct {
	references.Missing
	others int // additional resources that refer to it
}

// references reports references to resources that are not in the stream.
func (s stream) references() []Finding {
	var all []*unresolvedReference
	byID := map[object.ID]*unresolvedReference{}
	before := references.NewIndex(s.Options.Before, nil)
	for _, m := range s.MissingReferences() {
		d, ok := byID[m.ID]
		_, hook := before.ByID[m.ID]
		user := s.Resources[m.At].ID
		switch {
		case existsInEveryCluster(m.ID), hook, s.ExcludedIDs[m.ID], s.Makes(m.ID, user), before.Makes(m.ID, user):
		case !ok:
			byID[m.ID] = &unresolvedReference{Missing: m}
			all = append(all, byID[m.ID])
		case d.At != m.At:
			d.others++
		}
	}
	var found []Finding
	for n, d := range all {
		if f, report := s.reference(d, n < edges.MaxSuggestions); report {
			found = append(found, f)
		}
	}
	return found
}

// reference reports one such reference. report is false for optional
// dependencies that may well be in the cluster, unless the name looks misspelt.
func (s stream) reference(d *unresolvedReference, search bool) (f Finding, report bool) {
	who := s.Resources[d.At].Located()
	if d.others > 0 {
		who += fmt.Sprintf(" and %s", plain.Count(d.others, "other"))
	}
	f.Text = fmt.Sprintf("%s: %s (%s), which is not in the stream", who, d.Why.Detail, d.Why.Rule)
	if search {
		near, ok := s.Nearest(d.ID, s.Resources[d.At].ID)
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

// dropped reports the inferred edges that were dropped. Edges from policies,
// which may affect every workload of a namespace, share one finding.
func dropped(dropped []ordering.Dropped) []Finding {
	var found []Finding
	var policies []ordering.Dropped
	for _, d := range dropped {
		if d.Need.Why.Rule == ordering.RulePolicy {
			policies = append(policies, d)
			continue
		}
		found = append(found, Finding{Text: describe(d) + ": the plan ignores that edge"})
	}
	if len(policies) == 1 {
		found = append(found, Finding{Text: describe(policies[0]) + ": the plan ignores that edge"})
	} else if len(policies) > 1 {
		found = append(found, Finding{Text: fmt.Sprintf("%s; and %s for policies: the plan ignores these edges", describe(policies[0]), plain.Count(len(policies)-1, "other edge"))})
	}
	return found
}

// describe describes the dropped edge and the edges that contradict it.
func describe(d ordering.Dropped) string {
	var path []string
	for _, e := range d.Because {
		path = append(path, e.String())
	}
	return fmt.Sprintf("%s needs %s (%s), but %s", d.ID, d.Need.ID, d.Need.Why, strings.Join(path, ", and "))
}

// last reports workloads that come after all layers because no selector matches them, or they
// have no stamp, and they have no known dependents. Usually this is an oversight.
func (s stream) last(plan *ordering.Plan) []Finding {
	if s.OrderSource != ordering.OrderSourceStamps || len(plan.Waves) < 2 {
		return nil
	}
	var found []Finding
	for _, step := range plan.Steps {
		i := s.ByID[step.ID]
		at, r := s.Placements[i], s.Resources[i]
		if step.Wave == len(plan.Waves)-1 && !step.PlacedByDependents() && (at == edges.Unmatched || at == edges.Unplaced) && references.PodSpec(r.Object) != nil {
			text := "no selector matches it and no known resource depends on it; if one does, select it in an earlier layer"
			if at == edges.Unplaced {
				text = fmt.Sprintf("it has no stamp (%s) of order %s: run the function again", stamp.LayerAnnotation, strings.Join(s.orders(), " or "))
			}
			found = append(found, Finding{Text: r.Located() + " goes last: " + text})
		}
	}
	return found
}

// orders returns the names of the orders that stamped a resource.
func (s stream) orders() []string {
	names := map[string]bool{}
	for _, r := range s.Resources {
		if at, stamped, _ := stamp.Read(r.Annotations); stamped {
			names[at.Order] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// layers reports adjacent layers where nothing in the later one can depend
// on the earlier one.
func (s stream) layers() []Finding {
	members := s.MembersOf()
	between := s.PathsBetween()
	var found []Finding
	for after, set := range s.Sets {
		if set.Implied || set.Kind != ordering.Stamped && set.Kind != ordering.ArgoWave && set.Kind != ordering.HelmGroup {
			continue
		}
		for _, barrier := range set.After {
			before := barrier.Layer
			if _, linked := between[[2]int{before, after}]; linked || len(members[after]) == 0 || len(members[before]) == 0 {
				continue
			}
			if s.IsInert(members[after]) && s.IsInert(members[before]) {
				found = append(found, Finding{Text: fmt.Sprintf("%s and %s could be merged: their resources are inert, and nothing in the second refers to anything in the first", s.Sets[before].Title(), set.Title())})
			}
		}
	}
	return found
}

package draft

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// byKeys groups the resources by the key that covers them best, the rest by the next
// one, then by namespace, and workloads by kind. Values that only inert resources, such
// as ConfigMaps, have are no groups: edges place these.
func (p *proposal) byKeys(definitions bool) {
	keys := p.withoutCommon(candidates(p.Resources), p.active())
	if definitions {
		p.groupDefinitions(keys)
	}
	var without []requirement // the keys used so far
	var names []string
	for {
		rest := p.active()
		keys = p.withoutCommon(keys, rest)
		k, covered := p.best(keys, rest)
		if covered == 0 {
			break
		}
		for _, value := range valuesOf(rest, func(i int) string { value, _ := k.of(p.Resources[i].Meta); return value }) {
			s := selector{match: append([]requirement{{k, value}}, without...)}
			s.group, s.kind = p.narrow[fmt.Sprint(s)].Group, p.narrow[fmt.Sprint(s)].Kind
			p.add(group{selector: s, title: value, members: p.matching(s)})
		}
		keys = slices.DeleteFunc(keys, func(other key) bool { return other == k })
		without, names = append(without, requirement{key: k}), append(names, k.String())
	}
	kinds := selector{match: without}
	namespace := func(i int) string { return written(p.Resources[i]) }
	if rest := p.active(); len(valuesOf(rest, namespace)) > 1 {
		names, kinds.unspaced = append(names, "namespace"), true
		for _, ns := range valuesOf(rest, namespace) {
			s := selector{match: without, namespace: ns}
			if members := p.matching(s); len(members) > 0 {
				p.add(group{selector: s, title: ns, members: members})
			}
		}
	}
	if p.byKinds(kinds) {
		names = append(names, "kind")
	}
	p.definitionsFirst()
	p.by = strings.Join(names, ", then by ")
}

// definitions returns the selectors of Namespaces and CRDs.
func definitions() []selector {
	return []selector{{kind: "Namespace"}, {kind: "CustomResourceDefinition", group: "apiextensions.k8s.io"}}
}

// groupDefinitions groups Namespaces and CRDs, each if a selector by one of these keys would
// match some of them: only unmatched ones go first by themselves.
func (p *proposal) groupDefinitions(keys []key) {
	for _, s := range definitions() {
		members := p.matching(s)
		if slices.ContainsFunc(members, func(i int) bool {
			return slices.ContainsFunc(keys, func(k key) bool { _, has := k.of(p.Resources[i].Meta); return has })
		}) {
			p.add(group{selector: s, title: object.GuessPlural(s.kind), members: members})
		}
	}
}

func (g group) defines() bool {
	return slices.ContainsFunc(definitions(), func(s selector) bool { return s.kind == g.selector.kind && s.group == g.selector.group })
}

// definitionsWait reports whether definitions wait for another group. Their entries match
// more than their layers may hold then, because entries for labels come before them.
func (p *proposal) definitionsWait() bool {
	for n, g := range p.groups {
		if g.defines() && (p.level[n] > 0 || len(p.behind[n]) > 0) {
			return true
		}
	}
	return false
}

// definitionsFirst puts all other groups after the definitions: an operator needs its
// CRDs, though nothing in its manifest says so.
func (p *proposal) definitionsFirst() {
	for from, g := range p.groups {
		for to, other := range p.groups {
			if g.defines() && !other.defines() {
				p.relations = append(p.relations, relation{from: from, to: to, why: "CRDs and Namespaces go first"})
			}
		}
	}
}

// byKinds groups the workloads without a group that a selector matches by their kinds. It
// reports whether there are any.
func (p *proposal) byKinds(s selector) bool {
	placed := false
	for _, kind := range valuesOf(p.active(), p.workloadKind) {
		s.kind, s.group, _ = strings.Cut(kind, ".")
		members := p.matching(s) // none, if their labels have the value ""
		if len(members) == 0 {
			continue
		}
		placed = true
		p.add(group{selector: s, title: strings.ToLower(s.kind), members: members})
	}
	return placed
}

// workloadKind returns the kind of a workload, "Deployment.apps"; "" for other resources.
func (p *proposal) workloadKind(i int) string {
	if r := p.Resources[i]; references.PodSpec(r.Object) != nil {
		return r.Kind + "." + r.Group
	}
	return ""
}

// inUsualOrder relates groups whose workloads are of one kind as authors mostly do: data, then the
// Jobs that prepare it, then the programs that serve it. Labels that tell components apart say
// nothing about an order, unless a Job is one of them. A manifest that mentions the reverse wins.
func (p *proposal) inUsualOrder() {
	var places []int
	for _, g := range p.groups {
		places = append(places, p.usualPlace(g))
	}
	around := slices.Contains(places, jobPlace) && len(places) <= maxComponents
	for from, g := range p.groups {
		for to, other := range p.groups {
			byKind := g.selector.kind != "" && other.selector.kind != ""
			if places[from] >= 0 && places[from] < places[to] && (byKind || around) {
				p.relations = append(p.relations, relation{from: from, to: to, guess: true, why: "A guess by kind: StatefulSets, then Jobs, then Deployments"})
			}
		}
	}
}

// jobPlace is the place of Jobs in the usual order.
const jobPlace = 1

// maxComponents bounds the components of what may be one application, with one order.
const maxComponents = 50

// usualPlace returns the place of a group in the usual order; -1 if it has no workloads, or some
// of another kind. CronJobs do not count: they run later.
func (p *proposal) usualPlace(g group) int {
	kinds := slices.DeleteFunc(valuesOf(g.members, p.workloadKind), func(kind string) bool { return kind == "CronJob.batch" })
	if len(kinds) != 1 {
		return -1
	}
	return slices.Index([]string{"StatefulSet.apps", "Job.batch", "Deployment.apps"}, kinds[0])
}

// active returns the resources without a group that may have effects of their own.
func (p *proposal) active() []int {
	var out []int
	for i, r := range p.Resources {
		if p.groupOf[i] < 0 && !edges.IsInertKind(r.GroupKind()) {
			out = append(out, i)
		}
	}
	return out
}

// valuesOf returns the values that resources have, sorted, without the empty one.
func valuesOf(indices []int, of func(i int) string) []string {
	values := map[string]bool{}
	for _, i := range indices {
		values[of(i)] = true
	}
	delete(values, "")
	return slices.Sorted(maps.Keys(values))
}

// written returns the namespace in the manifest, which selectors are compared with.
func written(r ordering.Resource) string {
	return references.String(r.Object, "metadata", "namespace")
}

// matching returns the resources without a group that a selector matches.
func (p *proposal) matching(s selector) []int {
	var out []int
	for i, r := range p.Resources {
		met := func(q requirement) bool {
			value, present := q.key.of(r.Meta)
			return present == (q.value != "") && value == q.value
		}
		if p.groupOf[i] >= 0 || s.namespace != "" && written(r) != s.namespace || s.unspaced && written(r) != "" || s.kind != "" && (r.Kind != s.kind || r.Group != s.group) {
			continue
		}
		if !slices.ContainsFunc(s.match, func(q requirement) bool { return !met(q) }) {
			out = append(out, i)
		}
	}
	return out
}

// byWaves groups the resources by Argo CD's annotations, in the order of its phases and
// waves. Resources without an annotation are the rest, in wave 0; with workloads, the
// workloads among them are grouped by their kinds instead. Inert resources are in no
// group unless others are in their wave.
func (p *proposal) byWaves(workloads bool) {
	p.by = "Argo CD's phases and waves"
	hooks := slices.ContainsFunc(p.Resources, func(r ordering.Resource) bool { return edges.IsArgoHook(r.Annotations) })
	wave0, _, _ := edges.ParseArgoPlace(ordering.Resource{})
	groups := map[string]group{}
	places := map[string]edges.ArgoPlace{}
	for _, i := range p.active() {
		s, place := waveSelector(p.Resources[i].Meta, hooks), wave0
		if !s.rest {
			place, _, _ = edges.ParseArgoPlace(p.Resources[i])
		} else if workloads {
			continue
		}
		text := fmt.Sprint(s)
		places[text], groups[text] = place, group{selector: s, title: waveTitle(place)}
	}
	var at []edges.ArgoPlace // per group
	for _, text := range sortedKeys(groups) {
		g := groups[text]
		if !g.selector.rest {
			g.members = p.matching(g.selector)
		}
		p.add(g)
		at = append(at, places[text])
	}
	if workloads {
		s := selector{match: []requirement{{key: key{edges.SyncWave, true}}}}
		if hooks {
			s.match = append(s.match, requirement{key: key{edges.ArgoHook, true}})
		}
		p.byKinds(s)
	}
	for len(at) < len(p.groups) {
		at = append(at, wave0)
	}
	for from := range at {
		for to := range at {
			if edges.ComparePlaces(at[from], at[to]) < 0 {
				p.relations = append(p.relations, relation{from: from, to: to, byAuthor: true, why: fmt.Sprintf("%s comes after %s", at[to], at[from])})
			}
		}
	}
}

// waveSelector selects resources with the Argo CD annotations of this one. hooks
// means that some resource is a hook.
func waveSelector(m object.Meta, hooks bool) selector {
	waves, hook := key{edges.SyncWave, true}, key{edges.ArgoHook, true}
	number, phase := m.Annotations[waves.name], m.Annotations[hook.name]
	var s selector
	switch {
	case number != "" && phase != "":
		s.match = []requirement{{waves, number}, {hook, phase}}
	case number != "" && hooks:
		s.match = []requirement{{waves, number}, {key: hook}}
	case number != "":
		s.match = []requirement{{waves, number}}
	case phase != "":
		s.match = []requirement{{hook, phase}, {key: waves}}
	default:
		s.rest = true
	}
	return s
}

func waveTitle(at edges.ArgoPlace) string {
	if phase := strings.ToLower(at.Phase.String()); phase != "sync" {
		return fmt.Sprintf("%s-wave=%d", phase, at.Wave)
	}
	return fmt.Sprintf("wave=%d", at.Wave)
}

// asFramed relates groups as Helm's groups, which placed their members, are related.
func (p *proposal) asFramed(framed *edges.Dependencies) {
	groups := map[int][]int{} // per set of the frame
	for i, s := range framed.LayerOf {
		if g := p.groupOf[i]; s >= 0 && g >= 0 && !slices.Contains(groups[s], g) {
			groups[s] = append(groups[s], g)
		}
	}
	for s, set := range framed.Sets {
		for _, before := range set.After {
			for _, from := range groups[before.Layer] {
				for _, to := range groups[s] {
					p.relations = append(p.relations, relation{from: from, to: to, byAuthor: true, why: before.Why.Detail})
				}
			}
		}
	}
}

// awaitControllers records that custom resources become ready only through the workloads that
// may write their status: such a workload must not wait for them.
func (p *proposal) awaitControllers() {
	controllers := p.ControllersOf(p.Kept)
	for i := range p.Resources {
		to := p.vertex(int32(i))
		for _, controller := range controllers(i) {
			if from := p.vertex(int32(controller)); from != to {
				p.uses = append(p.uses, graph.Edge{From: from, To: to})
			}
		}
	}
}

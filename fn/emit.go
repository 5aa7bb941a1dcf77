package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// emitter writes an order in the annotations of other tools, for use without
// ordapply.
type emitter struct {
	order    *sortorder.Order
	metas    []object.Meta
	needs    *planNeeds
	layers   []int            // the rank of a resource's layer; -1 for other orders and for resources that come before their dependents
	ours     []bool           // whether this order stamped the resource
	members  map[string][]int // the resources of each layer, ours and others', by order/layer
	findings *Findings
	alone    []bool // whether other resources need it in addition to layers
	hasFirst bool   // whether some resources come before everything

	direct map[int][]string       // cache of directNeeds, by layer
	kptOf  map[int]dependsOnValue // by layer
	kptOff bool                   // kpt's values exceed the total limit
}

// emitTool returns the annotations of one tool for a resource; none is valid.
type emitTool func(e *emitter, i int) map[string]string

func newEmitter(d Planner, metas []object.Meta, out *Decision, stamps []ordering.Stamp, arranged *textPlan) *emitter {
	e := &emitter{
		order: d.Order, metas: metas, findings: &out.Findings, ours: out.Stamped, needs: newPlanNeeds(arranged, out.Stamped),
		layers: make([]int, len(metas)), members: map[string][]int{},
		direct: map[int][]string{}, kptOf: map[int]dependsOnValue{},
	}
	e.needs.before = e.comesBefore
	for i, s := range stamps {
		e.layers[i] = -1
		switch {
		case s.Order == "" || e.needs.early(i):
			continue
		case out.Stamped[i]:
			e.layers[i] = s.Wave
		}
		if e.needs.late(i) {
			continue // no layer waits for it
		}
		e.members[s.LayerName()] = append(e.members[s.LayerName()], i)
	}
	e.alone = make([]bool, len(metas))
	for i := range metas {
		e.hasFirst = e.hasFirst || e.ours[i] && e.needs.first(i)
		for _, need := range e.needs.single(i, e.layers) {
			e.alone[need] = e.alone[need] || e.ours[i]
		}
	}
	for _, members := range e.members { // by name, independent of input order
		slices.SortStableFunc(members, func(a, b int) int { return object.Compare(metas[a].ID, metas[b].ID) })
	}
	if slices.Contains(d.Order.Emit, "kpt") {
		e.checkKptSize()
	}
	return e
}

// emit returns the annotations for a resource and the tools they belong to.
// Existing annotations of the author are kept unless the order has overwrite
// set.
func (e *emitter) emit(i int) (set map[string]string, tools []string) {
	set = map[string]string{}
	for _, tool := range e.order.Emit {
		wanted := emitTools()[tool](e, i)
		if len(wanted) == 0 || e.keeps(i, tool, wanted) {
			continue
		}
		for key, value := range wanted {
			set[key] = value
		}
		tools = append(tools, tool)
	}
	return set, tools
}

func emitTools() map[string]emitTool {
	return map[string]emitTool{"argocd": (*emitter).argocd, "kpt": (*emitter).kpt, "kapp": (*emitter).kapp}
}

// keeps reports whether an annotation of the author conflicts and is kept.
func (e *emitter) keeps(i int, tool string, wanted map[string]string) bool {
	m := e.metas[i]
	if e.order.Overwrite || slices.Contains(emittedBefore(m), tool) {
		return false
	}
	for key, value := range wanted {
		if have, has := m.Annotations[key]; has && have != value {
			e.findings.add(Finding{Severity: Warning, Object: &e.metas[i], Message: "keeps its own " + key + ": " + have +
				", which differs from the order: remove it, or set overwrite: true"})
			return true
		}
	}
	return false
}

// emittedBefore returns the tools for which an earlier run wrote annotations.
func emittedBefore(m object.Meta) []string {
	if m.Annotations[ordering.EmittedAnnotation] == "" {
		return nil
	}
	return strings.Split(m.Annotations[ordering.EmittedAnnotation], ",")
}

// emittedKeys returns the annotations that an earlier run wrote for other
// tools.
func emittedKeys(m object.Meta) []string {
	var keys []string
	for _, tool := range emittedBefore(m) {
		for key := range m.Annotations {
			if belongsTo(tool, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func belongsTo(tool, key string) bool {
	switch tool {
	case "argocd":
		return key == syncWave
	case "kpt":
		return key == dependsOn
	case "kapp":
		return strings.HasPrefix(key, changeGroup) || strings.HasPrefix(key, changeRule)
	}
	return false
}

// directNeeds returns the layers directly before a layer, as order/layer: those
// with resources that no other one of them implies. Empty layers pass on their
// needs. It returns nil for layer -1.
func (e *emitter) directNeeds(layer int) []string {
	if layer < 0 {
		return nil
	}
	if _, known := e.direct[layer]; !known {
		e.direct[layer] = e.directNeedsOf(layer)
	}
	return e.direct[layer]
}

func (e *emitter) directNeedsOf(rank int) []string {
	needs := e.allNeeds(rank)
	covered := map[string]bool{}
	for _, need := range needs {
		for _, further := range e.needsOf(need) {
			covered[further] = true
		}
	}
	return slices.DeleteFunc(needs, func(need string) bool { return covered[need] })
}

// allNeeds returns all layers with resources that must come before one of ours.
func (e *emitter) allNeeds(rank int) []string {
	layer := e.order.Layers[rank]
	all := slices.Clone(layer.Needs)
	if layer.Needs == nil {
		for _, before := range e.order.Layers[:rank] {
			all = append(all, e.order.Name+"/"+before.Name)
		}
	}
	return slices.DeleteFunc(all, func(need string) bool { return len(e.members[need]) == 0 })
}

// comesBefore reports whether one layer of ours waits for another.
func (e *emitter) comesBefore(before, rank int) bool {
	layer := e.order.Layers[rank]
	if layer.Needs == nil {
		return before < rank
	}
	return slices.Contains(layer.Needs, e.order.Name+"/"+e.order.Layers[before].Name)
}

// needsOf returns the needs of a layer by name; for another order's, from its
// stamps.
func (e *emitter) needsOf(name string) []string {
	for _, layer := range e.order.Layers {
		if e.order.Name+"/"+layer.Name == name {
			return e.allNeeds(layer.Rank)
		}
	}
	if s, ok, err := ordering.ReadStamp(e.metas[e.members[name][0]].Annotations); ok && err == nil {
		return s.Needs
	}
	return nil
}

// warnOtherOrders adds a warning for each other order that our layers need in a
// tool that cannot express it: sync waves of two orders are not comparable, and
// kapp's groups exist only if that order emits them.
func (e *emitter) warnOtherOrders() {
	told := map[string]bool{e.order.Name: true}
	for _, layer := range e.order.Layers {
		for _, need := range layer.Needs {
			other, _, _ := strings.Cut(need, "/")
			if told[other] || len(e.members[need]) == 0 {
				continue
			}
			told[other] = true
			if slices.Contains(e.order.Emit, "argocd") {
				e.findings.add(Finding{Severity: Warning, Field: "emit", Message: fmt.Sprintf(
					"layer %s needs %s, which argocd cannot express: sync waves of two orders are not comparable; merge the two orders", layer.Name, need)})
			}
			if slices.Contains(e.order.Emit, "kapp") && !slices.Contains(emittedBefore(e.metas[e.members[need][0]]), "kapp") {
				e.findings.add(Finding{Severity: Warning, Field: "emit", Message: fmt.Sprintf(
					"layer %s needs %s, but kapp will not find that layer: add kapp to emit in order %s", layer.Name, need, other)})
			}
		}
	}
}

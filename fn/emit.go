package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// emitter writes an order in the annotations of other tools, for those who use
// them and not ordapply.
type emitter struct {
	order    *sortorder.Order
	metas    []object.Meta
	needs    *neededThere
	layers   []int            // the rank of the layer with which a resource of ours goes, -1 for others and for those that go before what needs them
	ours     []bool           // whether this order stamped the resource
	members  map[string][]int // the resources of each layer, ours and others', by order/layer
	findings *Findings
	alone    []bool // whether a resource is needed beside the layers
	hasFirst bool   // whether some go before everything

	direct map[int][]string       // directNeeds of each layer
	kptOf  map[int]dependsOnValue // of each layer
	kptOff bool                   // the values of kpt are too large together
}

// emitTool writes the annotations of one tool for a resource. It may return
// none.
type emitTool func(e *emitter, i int) map[string]string

func newEmitter(d Decider, metas []object.Meta, out *Decision, stamps []ordering.Stamp, arranged *arrangement) *emitter {
	e := &emitter{
		order: d.Order, metas: metas, findings: &out.Findings, ours: out.Stamped, needs: newNeededThere(arranged, out.Stamped),
		layers: make([]int, len(metas)), members: map[string][]int{},
		direct: map[int][]string{}, kptOf: map[int]dependsOnValue{},
	}
	for i, s := range stamps {
		e.layers[i] = -1
		switch {
		case s.Order == "" || e.needs.early(i):
			continue
		case out.Stamped[i]:
			e.layers[i] = s.Wave
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
	for _, members := range e.members { // by name, so that nothing depends on how the resources came
		slices.SortStableFunc(members, func(a, b int) int { return object.Compare(metas[a].ID, metas[b].ID) })
	}
	if slices.Contains(d.Order.Emit, "kpt") {
		e.boundKpt()
	}
	return e
}

// emit gives the annotations for one resource and the tools they are for.
// Annotations of the author stay unless the order says overwrite.
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

// keeps tells whether the author's own annotation stands in the way and is to
// stay.
func (e *emitter) keeps(i int, tool string, wanted map[string]string) bool {
	m := e.metas[i]
	if e.order.Overwrite || slices.Contains(emittedBefore(m), tool) {
		return false
	}
	for key, value := range wanted {
		if have, has := m.Annotations[key]; has && have != value {
			e.findings.add(Finding{Severity: Warning, Object: &e.metas[i], Message: "keeps its own " + key + ": " + have +
				", which is not what the order says: take it away, or set overwrite: true"})
			return true
		}
	}
	return false
}

// emittedBefore are the tools that an earlier run wrote for on a resource.
func emittedBefore(m object.Meta) []string {
	if m.Annotations[ordering.EmittedAnnotation] == "" {
		return nil
	}
	return strings.Split(m.Annotations[ordering.EmittedAnnotation], ",")
}

// emittedKeys are the annotations on a resource that an earlier run wrote for
// other tools.
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

// directNeeds are the layers right before a layer, as order/layer: those with
// resources, and of these only what no other of them needs already. An empty
// layer passes its needs on. None for a layer of -1.
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

// allNeeds are all layers with resources that must come before one of ours.
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

// needsOf are the needs of a layer by its name; of another order's, what its
// stamps say.
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

// warnOfOrders tells, once for each other order that one of our layers needs,
// which tools will not see it: the sync waves of two orders do not compare, and
// the groups of kapp are there only if that order writes them.
func (e *emitter) warnOfOrders() {
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
					"layer %s needs %s, and argocd cannot say so: sync waves of two orders do not compare; make one order of them", layer.Name, need)})
			}
			if slices.Contains(e.order.Emit, "kapp") && !slices.Contains(emittedBefore(e.metas[e.members[need][0]]), "kapp") {
				e.findings.add(Finding{Severity: Warning, Field: "emit", Message: fmt.Sprintf(
					"layer %s needs %s, and kapp will not know that layer: let order %s emit kapp too", layer.Name, need, other)})
			}
		}
	}
}

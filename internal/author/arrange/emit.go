package arrange

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// NewEmitter returns an Emitter for a stream and its plan, which may be nil. It reports what the
// tools of the order cannot express.
func NewEmitter(stream Stream, plan *Plan) *Emitter {
	e := newEmitter(stream, plan)
	if slices.Contains(stream.Order.Emit, stamp.Kpt) {
		e.checkKptSize()
		e.warnRenames()
	}
	e.warnOtherOrders()
	return e
}

// Annotations returns the annotations for a resource and the tools they belong to.
// Existing annotations of the author are kept unless the order has overwrite set.
func (e *Emitter) Annotations(i int) (set map[string]string, tools []string) {
	set = map[string]string{}
	for _, tool := range e.stream.Order.Emit {
		wanted := e.annotationsFor(tool, i)
		if len(wanted) == 0 || e.keeps(i, tool, wanted) {
			continue
		}
		maps.Copy(set, wanted)
		tools = append(tools, tool)
	}
	return set, tools
}

// annotationsFor returns the annotations of one tool for a resource; none is valid.
func (e *Emitter) annotationsFor(tool string, i int) map[string]string {
	switch tool {
	case stamp.ArgoCD:
		return e.argocd(i)
	case stamp.Kpt:
		return e.kpt(i)
	case stamp.Kapp:
		return e.kapp(i)
	}
	return nil
}

// keeps reports whether an annotation of the author conflicts and is kept.
func (e *Emitter) keeps(i int, tool string, wanted map[string]string) bool {
	m := e.stream.Metas[i]
	if e.stream.Order.Overwrite || slices.Contains(keys.EmittedFor(m), tool) {
		return false
	}
	for key, value := range wanted {
		if have, has := m.Annotations[key]; has && have != value {
			e.warn(i, "keeps its own %s: %s, which differs from the order: remove it, or set overwrite: true", key, have)
			return true
		}
	}
	return false
}

// warnOtherOrders adds a warning for each other order that our layers need in a
// tool that cannot express it: sync waves of two orders are not comparable, and
// kapp's groups exist only if that order emits them.
func (e *Emitter) warnOtherOrders() {
	reported := map[string]bool{e.stream.Order.Name: true}
	for _, layer := range e.stream.Order.Layers {
		for _, need := range layer.Needs {
			other, _, _ := strings.Cut(need, "/")
			if reported[other] || len(e.members[need]) == 0 {
				continue
			}
			reported[other] = true
			if slices.Contains(e.stream.Order.Emit, stamp.ArgoCD) {
				e.warn(-1, "layer %s needs %s, which argocd cannot express: sync waves of two orders are not comparable; merge the two orders", layer.Name, need)
			}
			if slices.Contains(e.stream.Order.Emit, stamp.Kapp) && !slices.Contains(keys.EmittedFor(e.stream.Metas[e.members[need][0]]), stamp.Kapp) {
				e.warn(-1, "layer %s needs %s, but kapp will not find that layer: add kapp to emit in order %s", layer.Name, need, other)
			}
		}
	}
}

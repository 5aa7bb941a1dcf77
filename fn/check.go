package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Check reports, as errors, resources whose stamps differ from those that Run
// would write. It returns the stream unchanged if there are none. It ignores the
// text order, because kustomize sorts after the function.
func (f Function) Check(in []byte) Output {
	source, decider, out := f.start(in)
	if out.Findings.Failed() {
		return out
	}
	if out = decider.output(source); out.Findings.Failed() {
		return out
	}
	absent := 0
	var stale Findings
	for i, change := range out.decision.Changes {
		switch before := out.metas[i].Annotations[ordering.LayerAnnotation]; {
		case !out.decision.Stamped[i] || change.isNoop(out.metas[i]):
		case before == "":
			absent++
			stale.add(Finding{Severity: Error, Object: &out.metas[i], Message: "has no stamp of order " + out.order.Name})
		default:
			stale.add(Finding{Severity: Error, Object: &out.metas[i], Message: change.difference(out.metas[i])})
		}
	}
	if absent > 0 && absent == len(out.metas) {
		stale = Findings{{Severity: Error, Message: fmt.Sprintf("none of the %d resources has a stamp: the function did not run. "+
			"kustomize needs --enable-alpha-plugins, and --enable-exec for a local binary, without which it skips the function silently; kubectl kustomize and kubectl apply -k cannot run it", absent)}}
	}
	out.Findings = append(out.Findings, stale...)
	if stale.Failed() {
		return refused(source, out.Findings)
	}
	out.stream = text{in}
	return out
}

// isNoop reports whether the decision changes neither resources nor their order.
func (d Decision) isNoop(metas []object.Meta) bool {
	if !slices.IsSorted(d.Sorted) {
		return false
	}
	for i, change := range d.Changes {
		if !change.isNoop(metas[i]) {
			return false
		}
	}
	return true
}

// isNoop reports whether the change leaves the resource as it is.
func (c Change) isNoop(m object.Meta) bool {
	return len(c.Remove) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(c.Set)), func(key string) bool {
		have, ok := m.Annotations[key]
		return !ok || have != c.Set[key]
	})
}

// difference describes the first annotation that the change would alter.
func (c Change) difference(m object.Meta) string {
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		if have, ok := m.Annotations[key]; !ok || have != c.Set[key] {
			return fmt.Sprintf("is stale: %s is %q and should be %q", key, have, c.Set[key])
		}
	}
	return fmt.Sprintf("is stale: %s is %q and should be absent", c.Remove[0], m.Annotations[c.Remove[0]])
}

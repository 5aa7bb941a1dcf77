package fn

import (
	"fmt"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// Check reports, as errors, resources whose stamps differ from Run's. It returns
// the stream unchanged if there are none. It ignores the text order, because
// kustomize sorts after the function.
func (f Function) Check(in []byte) Output {
	source, planner, out := f.start(in)
	if out.Findings.Failed() {
		return out
	}
	if out = planner.output(source); out.Findings.Failed() {
		return out
	}
	absent := 0
	var stale Findings
	for i, change := range out.decision.Changes {
		switch before := out.metas[i].Annotations[stamp.LayerAnnotation]; {
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
	out.stream = edit.Text{in}
	return out
}

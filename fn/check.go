package fn

import (
	"fmt"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// Check reports, as errors, resources whose stamps differ from Run's. It returns
// the stream unchanged if there are none. It ignores the text order, because
// kustomize sorts after the function.
func (p Processor) Check(in []byte) Output {
	text, err := edit.Decode(in)
	if err != nil {
		return failed(err)
	}
	list, found, err := readList(text)
	if err != nil {
		return failed(err)
	}
	if !found {
		stream, planner, out := p.startStream(text)
		if out.Findings.Failed() {
			return out
		}
		if out = planner.check(stream.Metas()); !out.Findings.Failed() {
			out.stream = edit.Text{in}
		}
		return out
	}
	items, planner, findings := p.start(&list.ResourceList)
	if findings.Failed() {
		return list.finish(in, Output{Findings: findings})
	}
	return list.finish(in, planner.check(items.metas))
}

// check decides, and adds the stamps that differ to the findings.
func (d Planner) check(metas []object.Meta) Output {
	out := d.output(metas)
	if out.Findings.Failed() {
		return out
	}
	out.changed = false
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
	return out
}

package units

import "github.com/ordapply/ordapply/ordering"

// Rules of the edges that connect a caller of a Service with the workload behind it.
const (
	ruleBackend ordering.Rule = "backend" // a webhook configuration, an APIService or a CRD calls a Service
	ruleService ordering.Rule = "service" // a Service selects the Pods of a workload
)

// answeredWith returns for each step the units with which it becomes ready together with
// others, or nil: a caller of a Service is ready when the workloads behind it are, and engines
// know no readiness of endpoints. So an engine must apply the caller and these workloads before
// it waits for either of them, and nothing may go on before both are ready.
func (c *cutter) answeredWith(awaited []bool) [][]int {
	behind := map[int][]int{} // by Service: the workloads
	for i, s := range c.plan.Steps {
		for _, n := range s.Needs {
			if n.Why.Rule == ruleService {
				behind[c.at[n.ID]] = append(behind[c.at[n.ID]], i)
			}
		}
	}
	with := make([][]int, len(c.plan.Steps))
	for i, s := range c.plan.Steps {
		if !awaited[i] {
			continue
		}
		for _, n := range s.Needs {
			if n.Why.Rule == ruleBackend {
				c.answer(with, i, behind[c.at[n.ID]])
			}
		}
	}
	return with
}

// answer adds a caller and the workloads behind one of its Services to the units where they are
// ready: the last one of theirs.
func (c *cutter) answer(with [][]int, caller int, workloads []int) {
	last := caller
	for _, w := range workloads {
		if comparePlaces(c.places[w], c.places[last]) > 0 {
			last = w
		}
	}
	if c.places[last].wave > c.plan.Steps[caller].ReadyBy {
		return // something waits for the caller before these are applied
	}
	with[caller] = append(with[caller], last)
	for _, i := range workloads {
		if s := c.plan.Steps[i]; s.ReadyBy > s.Wave && s.ReadyBy >= c.places[last].wave { // else something waits for it before
			with[i] = append(with[i], last)
		}
	}
}

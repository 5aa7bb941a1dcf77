package fn

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// checkAgreement reports an error if stamps of one layer differ in rank, gate,
// timeout or needs: two configurations used the same name.
func checkAgreement(metas []object.Meta, stamps []stamp.Stamp, findings *Findings) {
	first := map[string]int{}
	for i, s := range stamps {
		if s.Order == "" {
			continue
		}
		before, seen := first[s.LayerName()]
		if !seen {
			first[s.LayerName()] = i
			continue
		}
		if what := disagreement(stamps[before], s); what != "" {
			findings.add(Finding{Severity: Error, Object: &metas[i], Message: fmt.Sprintf(
				"layer %s has %s here and not on %s: two different orders are named %s; rename one of them",
				s.LayerName(), what, metas[before].ID, s.Order)})
			return
		}
	}
}

// disagreement names the first difference of two stamps of a layer, with the
// second one's value; "" if they agree.
func disagreement(a, b stamp.Stamp) string {
	switch {
	case a.Wave != b.Wave:
		return fmt.Sprintf("wave %d", b.Wave)
	case a.Gate != b.Gate:
		return "gate " + b.Gate.String()
	case a.Timeout != b.Timeout:
		return "timeout " + b.Timeout.String()
	case (a.Needs == nil) != (b.Needs == nil) || !slices.Equal(a.Needs, b.Needs):
		return fmt.Sprintf("needs %v", b.Needs)
	case a.Unmatched != b.Unmatched:
		return fmt.Sprintf("unmatched %v", b.Unmatched)
	}
	return ""
}

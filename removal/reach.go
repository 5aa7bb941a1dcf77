package removal

import (
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/progress"
)

// reportOutage reports, for the first step whose deletion is waited for, that
// the API server cannot be reached.
func (r *removal) reportOutage() {
	for i := range r.steps {
		if s := &r.steps[i]; s.state == progress.Deleting && s.accepted {
			r.outageStep = i
			r.move(i, progress.Deleting, r.Connectivity.WithOutage(s.detail))
			return
		}
	}
	r.outageStep = -1
}

// reportRecovery reports for the same step that the API server is reachable again.
func (r *removal) reportRecovery() {
	if r.outageStep < 0 {
		return
	}
	if s := &r.steps[r.outageStep]; s.state == progress.Deleting {
		r.move(r.outageStep, progress.Deleting, loop.RecoveryDetail(deletionDetail(s.live)))
	}
	r.outageStep = -1
}

package apply

import "github.com/ordapply/ordapply/internal/loop"

// reportOutage reports, for the first step that is waited for, that the API
// server cannot be reached.
func (r *run) reportOutage() {
	for i := range r.steps {
		s := &r.steps[i]
		if s.state == Waiting && !s.gatePassed || s.state == Applying && s.retryCause == nil && s.detail != "" {
			r.outageStep, r.detailBeforeOutage = i, s.detail
			r.move(i, s.state, r.Connectivity.WithOutage(s.detail))
			return
		}
	}
	r.outageStep = -1
}

// reportRecovery reports for the same step that the API server is reachable again.
func (r *run) reportRecovery() {
	if r.outageStep < 0 {
		return
	}
	if s := &r.steps[r.outageStep]; !s.state.Final() {
		r.move(r.outageStep, s.state, loop.RecoveryDetail(r.detailBeforeOutage))
	}
	r.outageStep = -1
}

// lastDetail returns the last known detail of a step that is given up, and why
// there is nothing newer.
func (r *run) lastDetail(i int) string {
	s := &r.steps[i]
	if r.Connectivity.Reported && i == r.outageStep {
		return r.Connectivity.WithOutage(r.detailBeforeOutage)
	}
	if s.podCheck.reported.text != "" && s.state == Waiting { // the diagnosis says more about that
		return r.Connectivity.WithOutage(s.reason)
	}
	return r.Connectivity.WithOutage(s.detail)
}

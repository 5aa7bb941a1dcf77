package loop

// Outages reports an unreachable API server, for the first step that is waited for, and once
// more when it is reachable again.
type Outages struct {
	*Loop
	// First returns the first step that is waited for; false without one.
	First func() (step int, found bool)
	// Detail returns the detail of a step; false when it has ended.
	Detail func(step int) (detail string, waits bool)
	// Report replaces the detail of a step.
	Report func(step int, detail string)

	step   int
	before string // its detail before the outage
	open   bool   // one was reported and is not over
}

// Start makes the loop report outages.
func (o *Outages) Start() {
	o.Connectivity.OnDisconnect, o.Connectivity.OnReconnect = o.report, o.reportEnd
}

func (o *Outages) report() {
	if o.step, o.open = o.First(); o.open {
		o.before, _ = o.Detail(o.step)
		o.Report(o.step, o.Connectivity.WithOutage(o.before))
	}
}

func (o *Outages) reportEnd() {
	if _, waits := o.Detail(o.step); o.open && waits {
		o.Report(o.step, RecoveryDetail(o.before))
	}
	o.open = false
}

// LastDetail returns the last detail of a step that is given up, and why nothing newer is
// known.
func (o *Outages) LastDetail(step int, detail string) string {
	if o.open && step == o.step {
		detail = o.before
	}
	return o.Connectivity.WithOutage(detail)
}

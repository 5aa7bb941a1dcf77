package report

import "github.com/ordapply/ordapply/apply/track"

// quiet is the report of -q: the lines of -o name, and the end of the run.
type quiet struct{ logReporter }

// Begin implements Reporter.
func (quiet) Begin(*track.Tracker) {}

// Event implements Reporter.
func (q quiet) Event(t track.Transition) { q.result(t) }

// Extend implements Reporter.
func (quiet) Extend(track.Extension) {}

// RollBack implements Reporter.
func (quiet) RollBack(int, *track.Tracker) {}

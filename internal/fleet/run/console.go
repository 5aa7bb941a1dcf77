package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/ordering"
)

// fleetConsole prints a run on a fleet: its progress on standard error, and on standard output
// the lines of all runs as JSON, or a table at the end. Runs call it at the same time.
type fleetConsole struct {
	out   report.Outputs
	json  bool
	quiet bool
	fleet *fleet.Fleet

	mu      sync.Mutex
	runs    map[string]*tally // by cluster, once started
	printed map[string]bool   // remarks that were printed
	ended   []int             // runs that ended, by cohort
	started time.Time
}

func (r *runner) newConsole(f *fleet.Fleet) *fleetConsole {
	c := &fleetConsole{out: r.out, json: r.isJSON(), quiet: r.view.Quiet, fleet: f, runs: map[string]*tally{}, printed: map[string]bool{}}
	if f != nil {
		c.ended = make([]int, len(f.Cohorts))
	}
	return c
}

// progress prints a line about the fleet.
func (c *fleetConsole) progress(format string, args ...any) {
	if !c.quiet {
		plain.Fprintf(c.out.Err, format+"\n", args...)
	}
}

// begin reports that the runs may start.
func (c *fleetConsole) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = time.Now()
	clusters := len(c.fleet.Clusters())
	c.progress("applying to %s in %s", plain.Count(clusters, "cluster"), plain.Count(len(c.fleet.Cohorts), "cohort"))
	if !c.json {
		return
	}
	line := events.FleetStart{Head: events.NewHead(events.TypeFleetStart, "", c.started), Clusters: clusters}
	for _, cohort := range c.fleet.Cohorts {
		of := events.FleetCohort{
			Cohort: cohort.Name, MaxParallel: cohort.MaxParallel, MaxFailures: cohort.MaxFailures,
			GateSeconds: cohort.Gate.Seconds(), PauseSeconds: cohort.Pause.Seconds(),
		}
		for _, member := range cohort.Clusters {
			of.Clusters = append(of.Clusters, member.Name)
		}
		line.Cohorts = append(line.Cohorts, of)
	}
	events.Write(c.out.Out, line)
}

// printShared prints the messages of planning about the clusters on standard error. A message about all
// is printed once, and a run does not say it again.
func (c *fleetConsole) printShared(clusters []fleet.Cluster, messages [][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var order []string
	by := map[string][]string{}
	for i, texts := range messages {
		for _, text := range texts {
			if by[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(by[text], clusters[i].Name) {
				by[text] = append(by[text], clusters[i].Name)
			}
		}
	}
	for _, text := range order {
		c.printed[text] = true
		if len(by[text]) == len(clusters) {
			plain.Fprintln(c.out.Err, text)
			continue
		}
		plain.Fprintf(c.out.Err, "%s: %s\n", join(by[text]), text)
	}
}

// remark prints a remark about a cluster, unless one about another had the same text.
func (c *fleetConsole) remark(cluster, text string) {
	if !c.printed[text] {
		c.printed[text] = true
		plain.Fprintf(c.out.Err, "%s: %s\n", cluster, text)
	}
}

// messages returns the writer of the messages of the run on a cluster.
func (c *fleetConsole) messages(cluster string) *lineWriter {
	return &lineWriter{each: func(line []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remark(cluster, string(line))
	}}
}

// slow returns the function with which the run on a cluster reports slow steps at once, while
// its other messages are collected.
func (c *fleetConsole) slow(of fleet.Cluster) func(string) {
	return func(text string) { plain.Fprintf(c.out.Err, "%s: %s\n", of.Name, text) }
}

// failed prints the errors of the run on a cluster.
func (c *fleetConsole) failed(cluster string, err error) {
	var text strings.Builder
	report.PrintErrors(&text, terminal.Shader(nil), ordering.FlattenErrors(err))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range lines(text.String()) {
		plain.Fprintf(c.out.Err, "%s: %s\n", cluster, line)
	}
}

// event prints a transition of a cohort or a cluster.
func (c *fleetConsole) event(e fleet.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cohort := c.fleet.Cohorts[e.Cohort]
	switch e.Kind {
	case fleet.CohortOpened:
		c.progress("cohort %s: %s%s", cohort.Name, plain.Count(len(cohort.Clusters), "cluster"), atATime(cohort))
	case fleet.ClusterStarted:
		c.runs[e.Cluster] = &tally{}
		c.progress("%s: %s: started", cohort.Name, e.Cluster)
	case fleet.ClusterEnded:
		c.ended[e.Cohort]++
		c.progress("%s %d/%d: %s: %s", cohort.Name, c.ended[e.Cohort], len(cohort.Clusters), e.Cluster, outcomeText(*e.Outcome, c.runs[e.Cluster]))
	case fleet.GateOpened:
		c.progress("cohort %s: its clusters must stay ready until %s (gate: %s)", cohort.Name, e.Until.Format(time.TimeOnly), cohort.Gate)
	case fleet.CohortEnded:
		c.progress("cohort %s: %s", cohort.Name, cohortText(e))
	case fleet.PauseBegan:
		c.progress("cohort %s opens at %s (pause: %s)", c.fleet.Cohorts[e.Cohort+1].Name, e.Until.Format(time.TimeOnly), cohort.Pause)
	}
	if line := c.inJSON(cohort.Name, e); c.json && line != nil {
		events.Write(c.out.Out, line)
	}
}

func atATime(cohort fleet.Cohort) string {
	if cohort.MaxParallel >= len(cohort.Clusters) {
		return ""
	}
	return fmt.Sprintf(", %d at a time", cohort.MaxParallel)
}

func cohortText(e fleet.Event) string {
	if e.Err != nil {
		return "failed: " + e.Err.Error()
	}
	return string(e.State)
}

// inJSON returns the line of an event.
func (c *fleetConsole) inJSON(cohort string, e fleet.Event) any {
	switch e.Kind {
	case fleet.CohortOpened:
		return events.CohortStart{Head: events.NewHead(events.TypeCohortStart, "", e.Time), Cohort: cohort}
	case fleet.ClusterStarted:
		return events.ClusterStart{Head: events.NewHead(events.TypeClusterStart, e.Cluster, e.Time), Cohort: cohort}
	case fleet.ClusterEnded:
		line := events.ClusterEnd{
			Head: events.NewHead(events.TypeClusterEnd, e.Cluster, e.Time), Cohort: cohort,
			State: string(e.Outcome.State), Seconds: e.Outcome.Took().Seconds(), Counts: events.Counts(c.runs[e.Cluster].counts), Unchanged: e.Outcome.Unchanged,
		}
		return line
	case fleet.GateOpened:
		return events.CohortGate{Head: events.NewHead(events.TypeCohortGate, "", e.Time), Cohort: cohort, Until: e.Until.UTC()}
	case fleet.CohortEnded:
		line := events.CohortEnd{Head: events.NewHead(events.TypeCohortEnd, "", e.Time), Cohort: cohort, State: string(e.State)}
		if e.Err != nil {
			line.Message = e.Err.Error()
		}
		return line
	case fleet.PauseBegan:
		return events.CohortPause{Head: events.NewHead(events.TypeCohortPause, "", e.Time), Cohort: cohort, Until: e.Until.UTC()}
	}
	return nil
}

// unchanged reports whether the run on a cluster that succeeded wrote nothing.
func (c *fleetConsole) unchanged(cluster string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.runs[cluster].wrote
}

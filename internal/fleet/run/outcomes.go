package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/html"
)

// outcome is a cluster's outcome in words.
func (c *fleetConsole) outcome(o fleet.Outcome) html.FleetCluster {
	if o.State == fleet.NotStarted {
		return html.FleetCluster{Name: o.Cluster, Outcome: "not started: " + o.Why}
	}
	out := html.FleetCluster{Name: o.Cluster, Outcome: string(o.State), Resources: c.runs[o.Cluster].words(), Took: rounded(o.Took())}
	switch {
	case o.State == fleet.TimedOut:
		out.Outcome = "timed out"
	case o.Unchanged:
		out.Outcome = "unchanged"
	}
	return out
}

// table prints each cluster's outcome.
func (c *fleetConsole) table(out io.Writer, s fleet.Summary) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	plain.Fprintf(w, "COHORT\tCLUSTER\tOUTCOME\tRESOURCES\tTIME\n")
	for _, cohort := range s.Cohorts {
		for _, one := range cohort.Clusters {
			o := c.outcome(one)
			line := strings.TrimRight(strings.Join([]string{cohort.Name, o.Name, o.Outcome, o.Resources, o.Took}, "\t"), "\t")
			plain.Fprintf(w, "%s\n", line)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writePage writes the page of the fleet, which links to its clusters' pages. why is the
// error of the fleet, or nil.
func (c *fleetConsole) writePage(file string, s fleet.Summary, why error) error {
	page := html.Fleet{Began: c.started, Took: time.Since(c.started), Result: "All clusters are done"}
	if why != nil {
		page.Result = why.Error()
	}
	for _, cohort := range s.Cohorts {
		out := html.FleetCohort{Name: cohort.Name, State: cmp.Or(map[fleet.State]string{fleet.NotStarted: "not started"}[cohort.State], string(cohort.State))}
		if cohort.Err != nil {
			out.Why = cohort.Err.Error()
		}
		for _, one := range cohort.Clusters {
			o := c.outcome(one)
			if one.State != fleet.NotStarted {
				o.Page = "./" + url.PathEscape(filepath.Base(fileOf(file, one.Cluster)))
			}
			out.Clusters = append(out.Clusters, o)
		}
		page.Cohorts = append(page.Cohorts, out)
	}
	var text bytes.Buffer
	err := html.WriteFleet(&text, page)
	if err == nil {
		err = files.Write(context.Background(), file, 0o644, text.Bytes()) // also after an interrupt
	}
	if err != nil {
		return fmt.Errorf("--report=%s: %w", file, err)
	}
	return nil
}

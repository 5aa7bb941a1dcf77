package html

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed page/fleet.html
var fleetText string

// Fleet is a run on several clusters, as its page shows it: cohort by cohort, with links to
// the pages of the clusters.
type Fleet struct {
	Began   time.Time
	Took    time.Duration
	Result  string // a sentence
	Cohorts []FleetCohort
}

// FleetCohort is a cohort of a Fleet.
type FleetCohort struct {
	Name, State string
	Why         string // why it failed, or ""
	Clusters    []FleetCluster
}

// FleetCluster is a cluster of a FleetCohort, in words.
type FleetCluster struct {
	Name, Outcome, Resources, Took string
	Page                           string // relative URL of its page; "" if it was not started
}

// WriteFleet writes the page of a fleet. All texts are shown as text.
func WriteFleet(w io.Writer, f Fleet) error {
	page, err := template.New("fleet").Parse(fleetText)
	if err != nil {
		return err
	}
	style := pageStyle + "th:nth-child(n) { width: auto; }\n"
	return page.Execute(w, map[string]any{
		"Title": "ordapply " + f.Began.UTC().Format("2006-01-02 15:04 UTC"), "Style": template.CSS(style), "Policy": policy(style, ""), "Fleet": f, "Took": f.Took.Round(time.Second / 10).String(),
	})
}

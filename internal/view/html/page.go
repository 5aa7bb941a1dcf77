package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/object"
)

//go:embed page/page.html
var pageText string

//go:embed page/page.css
var pageStyle string

// The parts of the script; each uses earlier ones.
//
//go:embed page/tools.js
var toolsScript string

//go:embed page/zoom.js
var zoomScript string

//go:embed page/timeline.js
var timelineScript string

//go:embed page/graph.js
var graphScript string

//go:embed page/page.js
var pageScript string

// Write writes the page of a run. Everything that manifests and the cluster say is shown
// as text: html/template and the script never make markup of it.
func Write(w io.Writer, run *Run) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	shown := shown(run)
	data, err := json.Marshal(shown) // escapes <, > and &: no text can end the element
	if err != nil {
		return err
	}
	script := "(() => {\n\"use strict\";\n" + toolsScript + zoomScript + timelineScript + graphScript + pageScript + "})();\n"
	return page.Execute(w, map[string]any{
		"Heading": heading(run), "Good": run.State == "done", "Icon": icon(run.State == "done"), "Style": template.CSS(pageStyle), "Script": template.JS(script), "Data": template.JS(data),
		"Parts": shown.Parts, "Policy": policy(pageStyle, script),
	})
}

// icon returns a dot for the tab of the page, in the colour of the outcome.
func icon(good bool) template.URL {
	colour := "firebrick"
	if good {
		colour = "seagreen"
	}
	return template.URL("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='3' fill='" + colour + "'/></svg>")
}

// policy returns a Content-Security-Policy with which a browser runs this script and applies
// this style, and no other: markup that gets into the page runs nothing. A page without a
// script has "".
func policy(style, script string) string {
	text := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + sourceHash(style)
	if script != "" {
		text += "; script-src " + sourceHash(script)
	}
	return text
}

// sourceHash returns the hash of the text of an element as a source of a policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page.js reads the types below; times are seconds since the part began, or null.
type pageData struct {
	Server, Context, Schedule string
	Commit, Message           string
	DryRun                    bool
	ExitCode                  int
	Began                     time.Time
	Seconds                   float64
	Warnings                  []string
	Parts                     []pagePart
}

type pagePart struct {
	Name      string
	User      string
	Seconds   float64
	Waves     []pageWave
	Resources []pageResource
	Hooks     []pageResource
	Failures  []pageFailure
	Critical  []pageSegment
	Graph     template.HTML `json:"-"`
	Boxes     [][]int       // of the graph: the resources in each
}

type pageWave struct {
	Number        int
	Resources     int
	Name, State   string
	Opened, Ended *float64
}

type pageResource struct {
	Label string // "Deployment shop/web"
	Wave  int
	Layer string
	Event string // of a hook
	pageState
	pageTimes
	Needs []pageNeed
	Notes []pageNote
}

type pageState struct {
	State, Health, Message string
	Change                 string // created, configured, deleted, unchanged, absent, kept or none
	Assumed                bool
}

type pageTimes struct {
	Queued, Sent, Applied *float64
	At                    *float64 // when it was done
}

type pageNeed struct {
	Of           int // index of the resource; -1 when the part does not have it
	Label        string
	Gate, Reason string
}

type pageNote struct {
	At          float64
	State, Text string
}

type pageFailure struct {
	Of       int
	Message  string
	Findings []pageFinding
	Blocks   []string
}

type pageFinding struct {
	About, Text string
	Log         []string
}

type pageSegment struct {
	Of         int
	Hook       bool
	From, Cost float64
	Why        string
	Without    float64
}

// shown returns the data of a run's page.
func shown(run *Run) pageData {
	d := pageData{
		Server: run.Server, Context: run.Context, Schedule: run.Schedule, Commit: run.Commit, Message: run.Message, DryRun: run.DryRun,
		ExitCode: run.ExitCode, Began: run.Began, Seconds: run.Ended.Sub(run.Began).Seconds(), Warnings: run.Warnings,
	}
	for n, p := range run.Parts {
		name := "Run"
		if p.Rollback {
			name = "Rollback"
		}
		ended := run.Ended
		if n+1 < len(run.Parts) {
			ended = run.Parts[n+1].Began
		}
		d.Parts = append(d.Parts, p.shown(name, run.Schedule, ended))
	}
	return d
}

func (p *Part) shown(name, schedule string, ended time.Time) pagePart {
	index := map[events.ID]int{}
	for i, r := range p.Resources {
		index[r.ID] = i
	}
	out := pagePart{Name: name, User: p.User, Seconds: ended.Sub(p.Began).Seconds()}
	for _, w := range p.Waves {
		out.Waves = append(out.Waves, pageWave{w.Wave.Wave, w.Resources, w.Name, w.State, p.since(w.Opened), p.since(w.Ended)})
	}
	for _, r := range p.Resources {
		out.Resources = append(out.Resources, p.row(r, index))
	}
	for _, r := range p.Hooks {
		out.Hooks = append(out.Hooks, p.row(r, index))
	}
	for _, e := range p.Errors {
		out.Failures = append(out.Failures, failure(e, index))
	}
	out.Graph, out.Boxes = p.graph(schedule)
	for _, s := range p.CriticalPath(schedule) {
		out.Critical = append(out.Critical, pageSegment{Of: s.Of, Hook: s.Hook, From: s.From.Seconds(), Cost: s.Cost.Seconds(), Why: s.Why, Without: s.Without.Seconds()})
	}
	return out
}

// since returns the seconds since the part began; nil for a time that is not known.
func (p *Part) since(at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	s := max(0, at.Sub(p.Began).Seconds())
	return &s
}

// row returns a resource's row of the page.
func (p *Part) row(r *Resource, index map[events.ID]int) pageResource {
	out := pageResource{
		Label: label(r.ID), Wave: r.Planned.Wave, Layer: r.Layer, Event: r.Event,
		pageState: pageState{r.State, r.Health, r.Message, r.change(), r.Assumed},
		pageTimes: pageTimes{p.since(r.Queued), p.since(r.Sent), p.since(r.Applied), p.since(r.Done)},
	}
	for _, need := range r.Needs {
		of, ok := index[need.ID]
		if !ok {
			of = -1
		}
		out.Needs = append(out.Needs, pageNeed{of, label(need.ID), need.Gate, need.Reason})
	}
	for _, note := range r.Notes {
		out.Notes = append(out.Notes, pageNote{max(0, note.At.Sub(p.Began).Seconds()), note.State, note.Text})
	}
	return out
}

// change returns the run's change of an object.
func (r *Resource) change() string {
	switch {
	case r.State == "deleted" && r.Unchanged:
		return "absent"
	case r.State == "deleted" || r.State == "kept":
		return r.State
	case r.Created:
		return "created"
	case r.Unchanged:
		return "unchanged"
	case r.State == "ready" || r.State == "applied" || !r.Applied.IsZero():
		return "configured"
	}
	return "none"
}

func failure(e events.Error, index map[events.ID]int) pageFailure {
	out := pageFailure{Of: -1, Message: e.Message}
	if e.Resource != nil {
		if i, ok := index[*e.Resource]; ok {
			out.Of = i
		}
	}
	for _, f := range e.Diagnosis {
		about := ""
		if f.About != nil {
			about = label(*f.About)
		}
		out.Findings = append(out.Findings, pageFinding{about, f.Text, f.Log})
	}
	for _, id := range e.Blocks {
		out.Blocks = append(out.Blocks, label(id))
	}
	return out
}

func label(id events.ID) string {
	return object.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}.String()
}

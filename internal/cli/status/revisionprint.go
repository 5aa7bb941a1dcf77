package status

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// revisionTitle describes a revision in one line.
func revisionTitle(r *history.Revision) string {
	text := fmt.Sprintf("revision %d, %s, created %s", r.Number, r.Status, r.Created.Format(time.RFC3339))
	if r.User != "" {
		text += " by " + plain.OneLine(r.User)
	}
	if r.Commit != "" {
		text += " from commit " + plain.OneLine(r.Commit)
	}
	if r.Message != "" {
		text += ": " + plain.OneLine(r.Message)
	}
	return text
}

// recordLines describe the run of a revision; none for revisions of older versions.
func recordLines(r history.Record) []string {
	if r.Operation == "" {
		return nil
	}
	lines := []string{fmt.Sprintf("%s: %d created, %d adopted, %d recreated", r.Operation, len(r.Created), len(r.Adopted), len(r.Recreated))}
	for _, a := range r.Adopted {
		from := "no apply set"
		if a.Set != "" {
			from = "apply set " + a.Set
		}
		if len(a.Managers) > 0 {
			from += ", written by " + strings.Join(a.Managers, ", ")
		}
		lines = append(lines, fmt.Sprintf("adopted %s from %s", a.ID, from))
	}
	for _, id := range r.Recreated {
		lines = append(lines, "recreated "+id.String())
	}
	for _, h := range r.Hooks {
		lines = append(lines, fmt.Sprintf("%s hook %s: %s", h.Event, h.ID, h.Outcome))
	}
	for line := range strings.Lines(r.Failure) {
		lines = append(lines, "failed: "+strings.TrimSpace(line))
	}
	for line := range strings.Lines(r.FailedBefore) {
		lines = append(lines, "an earlier run failed: "+strings.TrimSpace(line))
	}
	return lines
}

// printRevision prints the waves of a revision with names and reasons, but no
// contents of resources.
func printRevision(w io.Writer, r *history.Revision) error {
	if _, err := plain.Fprintln(w, revisionTitle(r)); err != nil {
		return err
	}
	for _, line := range recordLines(r.Record) {
		if _, err := plain.Fprintf(w, "  %s\n", line); err != nil {
			return err
		}
	}
	return r.Plan.WriteText(w)
}

// revisionJSON is the JSON form of a revision.
type revisionJSON struct {
	Revision int            `json:"revision"`
	Created  time.Time      `json:"created"`
	Status   history.Status `json:"status"`
	Rollback int            `json:"rollback,omitempty"`
	history.Origin
	Cluster string         `json:"cluster,omitempty"`
	Record  history.Record `json:"record,omitzero"`
	Waves   []waveJSON     `json:"waves"`
}

type waveJSON struct {
	Name      string         `json:"name,omitempty"`
	Resources []resourceJSON `json:"resources"`
}

// resourceJSON is a resource and the layer that placed it.
type resourceJSON struct {
	object.ID
	Layer string `json:"layer,omitempty"`
}

func revisionInJSON(r *history.Revision) revisionJSON {
	out := revisionJSON{Revision: r.Number, Created: r.Created, Status: r.Status, Rollback: r.Rollback, Origin: r.Origin, Cluster: r.Cluster, Record: r.Record, Waves: []waveJSON{}}
	for _, wave := range r.Plan.Waves {
		out.Waves = append(out.Waves, waveJSON{Name: wave.Name})
	}
	for _, s := range r.Plan.Steps {
		wave := &out.Waves[s.Wave]
		wave.Resources = append(wave.Resources, resourceJSON{s.ID, s.Layer})
	}
	return out
}

// WriteJSON writes a value as one line of JSON.
func WriteJSON(w io.Writer, value any) error {
	return plain.WriteJSON(w, value, "")
}

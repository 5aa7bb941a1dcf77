package setstatus

import (
	"fmt"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// revisionTitle describes a revision in one line.
func revisionTitle(r *state.Revision) string {
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

// printRevision prints the waves of a revision with names and reasons, but no
// contents of resources.
func printRevision(w io.Writer, r *state.Revision) error {
	if _, err := plain.Fprintln(w, revisionTitle(r)); err != nil {
		return err
	}
	return r.Plan.WriteText(w)
}

// revisionJSON is the JSON form of a revision.
type revisionJSON struct {
	Revision int          `json:"revision"`
	Created  time.Time    `json:"created"`
	Status   state.Status `json:"status"`
	Rollback int          `json:"rollback,omitempty"`
	state.Origin
	Cluster string     `json:"cluster,omitempty"`
	Waves   []waveJSON `json:"waves"`
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

func revisionInJSON(r *state.Revision) revisionJSON {
	out := revisionJSON{Revision: r.Number, Created: r.Created, Status: r.Status, Rollback: r.Rollback, Origin: r.Origin, Cluster: r.Cluster, Waves: []waveJSON{}}
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

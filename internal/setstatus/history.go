package setstatus

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// NewHistory returns the command history.
func NewHistory() *cobra.Command {
	var v setflags.Command
	var revision int
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an apply set, or show the waves of one",
		Long: `history lists what was applied to an apply set: each stream that differs from the
previous one is a revision. NAME is that of the set's parent Secret, or KIND/NAME.

  ordapply history shop
  ordapply history shop --revision 3    its waves, as they were applied`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := v.Connect(cmd.Context())
			if err != nil {
				return err
			}
			set, err := setflags.OpenExisting(cmd.Context(), t, args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("revision") {
				return listRevisions(cmd, set, v.Output)
			}
			r, err := set.History.Read(cmd.Context(), revision)
			if err != nil {
				return err
			}
			if v.Output == "json" {
				return WriteJSON(cmd.OutOrStdout(), revisionInJSON(r))
			}
			return printRevision(cmd.OutOrStdout(), r)
		},
	}
	v.Register(cmd)
	cmd.Flags().IntVar(&revision, "revision", 0, "show the waves of this revision")
	return cmd
}

// listRevisions prints a line for each revision, oldest first.
func listRevisions(cmd *cobra.Command, set setflags.Existing, output string) error {
	entries, err := set.History.List(cmd.Context())
	if err != nil {
		return err
	}
	if output == "json" {
		return WriteJSON(cmd.OutOrStdout(), append([]state.Entry{}, entries...))
	}
	if len(entries) == 0 {
		plain.Fprintf(cmd.ErrOrStderr(), "apply set %s has no revisions\n", set.Parent.ID.Name)
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	plain.Fprintf(w, "REVISION\tCREATED\tSTATUS\tRESOURCES\tLAYERS\tWAVES\tNOTE\n")
	for _, e := range entries {
		plain.Fprintf(w, "%d\t%s\t%s\t%d\t%d\t%d", e.Number, e.Created.Format(time.RFC3339), e.Status, e.Resources, e.Layers, e.Waves)
		if e.Rollback != 0 {
			plain.Fprintf(w, "\t%s", note(e.Rollback))
		}
		plain.Fprintf(w, "\n")
	}
	return w.Flush()
}

// note describes the origin of a revision; "" if it was a stream.
func note(rollback int) string {
	if rollback == 0 {
		return ""
	}
	return fmt.Sprintf("rollback to revision %d", rollback)
}

// printRevision prints the waves of a revision with names and reasons, but no
// contents of resources.
func printRevision(w io.Writer, r *state.Revision) error {
	head := fmt.Sprintf("revision %d, %s, created %s", r.Number, r.Status, r.Created.Format(time.RFC3339))
	if r.Rollback > 0 {
		head += ": " + note(r.Rollback)
	}
	if _, err := plain.Fprintln(w, head); err != nil {
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
	Cluster  string       `json:"cluster,omitempty"`
	Waves    []waveJSON   `json:"waves"`
}

type waveJSON struct {
	Name      string         `json:"name,omitempty"`
	Resources []resourceJSON `json:"resources"`
}

// resourceJSON is a resource and the layer that placed it.
type resourceJSON struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Layer     string `json:"layer,omitempty"`
}

func revisionInJSON(r *state.Revision) revisionJSON {
	out := revisionJSON{Revision: r.Number, Created: r.Created, Status: r.Status, Rollback: r.Rollback, Cluster: r.Cluster, Waves: []waveJSON{}}
	for _, wave := range r.Plan.Waves {
		out.Waves = append(out.Waves, waveJSON{Name: wave.Name})
	}
	for _, s := range r.Plan.Steps {
		wave := &out.Waves[s.Wave]
		wave.Resources = append(wave.Resources, inJSON(s.ID, s.Layer))
	}
	return out
}

func inJSON(id object.ID, layer string) resourceJSON {
	return resourceJSON{id.Group, id.Kind, id.Namespace, id.Name, layer}
}

// WriteJSON writes a value as one line of JSON.
func WriteJSON(w io.Writer, value any) error {
	return plain.WriteJSON(w, value, "")
}

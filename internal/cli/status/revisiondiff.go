package status

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// newRevisionDiff returns the command history diff.
func newRevisionDiff(c *console.Console) *cobra.Command {
	var v connect.Command
	cmd := &cobra.Command{
		Use:   "diff NAME REVISION REVISION",
		Short: "Print the differences between the manifests of two revisions",
		Long: `diff compares the manifests of two revisions field by field, as ordapply plan
prints changes. Values of Secrets are masked; the same value has the same mask.
The exit code is 0 even if there are differences.

  ordapply history diff shop 2 3`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := readRevisions(cmd.Context(), c, &v, args)
			if err != nil {
				return err
			}
			d := compareRevisions(read[0], read[1])
			if v.Output == "json" {
				return WriteJSON(c.Out, d)
			}
			return d.writeText(c.Out)
		},
	}
	v.Register(cmd.Flags())
	return cmd
}

// revisionDiff is the difference of two revisions.
type revisionDiff struct {
	From      int             `json:"from"`
	To        int             `json:"to"`
	Resources []changedObject `json:"resources"` // without equal ones
	Unchanged int             `json:"unchanged"` // how many are the same
}

// changedObject is a resource or hook that differs.
type changedObject struct {
	object.ID
	Change diff.Kind      `json:"change"`
	Fields []changedField `json:"fields,omitempty"` // if it is in both
	lines  []string       // the fields for people
}

type changedField struct {
	Path   string    `json:"path"`
	Change diff.Kind `json:"change"`
	Before any       `json:"before,omitempty"`
	After  any       `json:"after,omitempty"`
}

// maxFieldLines is how many lines of a changed text are printed.
const maxFieldLines = 12

// compareRevisions returns the differences, sorted by ID.
func compareRevisions(from, to *history.Revision) revisionDiff {
	out := revisionDiff{From: from.Number, To: to.Number, Resources: []changedObject{}}
	before, after := objectsOf(from), objectsOf(to)
	ids := maps.Clone(before)
	maps.Copy(ids, after)
	for _, id := range slices.SortedFunc(maps.Keys(ids), object.Compare) {
		one := changedObject{ID: id, Change: diff.Changed}
		switch {
		case before[id] == nil:
			one.Change = diff.Added
		case after[id] == nil:
			one.Change = diff.Removed
		default:
			for _, c := range diff.Between(before[id], after[id]) {
				one.Fields = append(one.Fields, changedField{c.Path, c.Kind, c.Before, c.After})
				one.lines = append(one.lines, c.Lines(maxFieldLines)...)
			}
			if len(one.Fields) == 0 {
				out.Unchanged++
				continue
			}
		}
		out.Resources = append(out.Resources, one)
	}
	return out
}

// objectsOf returns the fields of a revision's resources and hooks.
func objectsOf(r *history.Revision) map[object.ID]map[string]any {
	out := map[object.ID]map[string]any{}
	for _, resource := range manifests(r) {
		out[resource.ID] = resource.Object
	}
	return out
}

// writeText prints the differences for people.
func (d revisionDiff) writeText(w io.Writer) error {
	var text strings.Builder
	counts := map[diff.Kind]int{}
	for _, one := range d.Resources {
		counts[one.Change]++
		plain.Fprintf(&text, "%-7s  %s\n", one.Change, one.ID)
		for _, line := range one.lines {
			plain.Fprintf(&text, "           %s\n", plain.Clip(line, 200))
		}
	}
	total := fmt.Sprintf("%d unchanged", d.Unchanged)
	for _, kind := range []diff.Kind{diff.Removed, diff.Changed, diff.Added} {
		if counts[kind] > 0 {
			total = fmt.Sprintf("%d %s, ", counts[kind], kind) + total
		}
	}
	plain.Fprintf(&text, "revision %d to %d: %s\n", d.From, d.To, total)
	_, err := io.WriteString(w, text.String())
	return err
}

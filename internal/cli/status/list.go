package status

import (
	"cmp"
	"context"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
)

// NewList returns the command list.
func NewList(c *console.Console) *cobra.Command {
	var v connect.Command
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the apply sets of a namespace, with the newest revision of each",
		Long: `list lists the apply sets (KEP-3659) whose parents are in the namespace or
cluster-scoped, whichever tool manages them, with the newest revision of those
that ordapply manages.

  ordapply list -n shop
  ordapply list -A`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := v.Connect(cmd.Context(), c)
			if err != nil {
				return err
			}
			namespace := t.Scope.Namespace
			if all {
				namespace = ""
			}
			return PrintSets(cmd.Context(), c, t, namespace, v.Output)
		},
	}
	v.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the apply sets of all namespaces")
	return cmd
}

// PrintSets prints the apply sets of a namespace, or of all for "", as text or json.
func PrintSets(ctx context.Context, c *console.Console, t *connect.Target, namespace, output string) error {
	sets, notes, err := connect.ListSets(ctx, t.Cluster, namespace)
	if err != nil {
		return connect.ExplainForbidden(err, t, "NAME", "--status")
	}
	for _, note := range notes {
		plain.Fprintln(c.Err, "note: "+note)
	}
	if output == "json" {
		return WriteJSON(c.Out, setsInJSON(sets))
	}
	if len(sets) == 0 {
		plain.Fprintln(c.Err, "no apply sets found"+placeOf(namespace))
		return nil
	}
	return printSets(c.Out, sets)
}

func placeOf(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace + "; ordapply list -A lists all"
}

// printSets prints a line for each set.
func printSets(out io.Writer, sets []connect.Set) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	plain.Fprintf(w, "NAMESPACE\tNAME\tTOOL\tREVISION\tSTATUS\tRESOURCES\tAGE\n")
	for _, s := range sets {
		plain.Fprintf(w, "%s\t%s\t%s", s.Parent.ID.Namespace, s.Parent.Argument(), cmp.Or(s.Parent.Tooling, "unknown"))
		if e := s.Newest; e != nil {
			plain.Fprintf(w, "\t%d\t%s\t%d\t%s", e.Number, e.Status, e.Resources, duration.HumanDuration(time.Since(e.Created)))
		}
		plain.Fprintf(w, "\n")
	}
	return w.Flush()
}

// setJSON is the JSON form of a set.
type setJSON struct {
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"` // as commands take it
	Tool      string         `json:"tool,omitempty"`
	Newest    *connect.Entry `json:"newest,omitempty"`
}

func setsInJSON(sets []connect.Set) []setJSON {
	out := []setJSON{}
	for _, s := range sets {
		out = append(out, setJSON{s.Parent.ID.Namespace, s.Parent.Argument(), s.Parent.Tooling, s.Newest})
	}
	return out
}

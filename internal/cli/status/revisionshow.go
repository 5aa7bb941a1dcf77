package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
)

// newShow returns the command history show.
func newShow(c *console.Console) *cobra.Command {
	var v connect.Command
	cmd := &cobra.Command{
		Use:   "show NAME REVISION",
		Short: "Print the manifests of a revision, in the order they were applied",
		Long: `show prints the manifests of a revision as they were given, in their order, and
then its hooks. Values of Secrets are masked: to apply a revision, use ordapply
rollback.

  ordapply history show shop 3`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := readRevisions(cmd.Context(), c, &v, args)
			if err != nil {
				return err
			}
			r := read[0]
			if v.Output == "json" {
				return WriteJSON(c.Out, manifestsInJSON(r))
			}
			return plain.WriteLines(c.Out, func(w io.Writer) error { return writeManifests(w, r) })
		},
	}
	v.Register(cmd.Flags())
	return cmd
}

// readRevisions reads the revisions that the arguments after the name of a set number,
// with the values of Secrets masked. The same value has the same mask in all of them.
func readRevisions(ctx context.Context, c *console.Console, v *connect.Command, args []string) ([]*history.Revision, error) {
	numbers := make([]int, len(args)-1)
	for i, text := range args[1:] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, usage.Errorf("%q is not a revision: write its number, as ordapply history %s lists it", text, args[0])
		}
		numbers[i] = n
	}
	t, err := v.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	revisions, err := readNumbered(ctx, t, args[0], numbers)
	if err != nil {
		return nil, connect.ExplainForbidden(err, t, args[0], "--status")
	}
	masker, err := redact.NewMasker()
	if err != nil {
		return nil, err
	}
	var secrets []*unstructured.Unstructured
	for _, r := range revisions {
		secrets = append(secrets, secretsOf(r)...)
	}
	masker.Mask(secrets...)
	return revisions, nil
}

// readNumbered reads revisions of a set.
func readNumbered(ctx context.Context, t *connect.Target, name string, numbers []int) ([]*history.Revision, error) {
	set, err := connect.OpenExisting(ctx, t, name)
	if err != nil {
		return nil, err
	}
	revisions := make([]*history.Revision, len(numbers))
	for i, n := range numbers {
		if revisions[i], err = set.History.Show(ctx, n); err != nil {
			return nil, err
		}
	}
	return revisions, nil
}

// secretsOf returns the Secrets of a revision and its hooks, which share their fields.
func secretsOf(r *history.Revision) (out []*unstructured.Unstructured) {
	for _, resource := range manifests(r) {
		if resource.Kind == "Secret" && resource.Group == "" {
			out = append(out, &unstructured.Unstructured{Object: resource.Object})
		}
	}
	return out
}

// manifests returns the resources of a revision in the order of its plan, and then its
// hooks.
func manifests(r *history.Revision) []ordering.Resource {
	place := map[object.ID]int{}
	for i, step := range r.Plan.Steps {
		place[step.ID] = i
	}
	sorted := slices.SortedStableFunc(slices.Values(r.Resources), func(a, b ordering.Resource) int {
		return cmp.Compare(place[a.ID], place[b.ID])
	})
	return append(sorted, r.Hooks...)
}

// writeManifests writes the manifests as YAML documents.
func writeManifests(w io.Writer, r *history.Revision) error {
	plain.Fprintf(w, "# %s\n", revisionTitle(r))
	for _, line := range recordLines(r.Record) {
		plain.Fprintf(w, "#   %s\n", line)
	}
	if len(secretsOf(r)) > 0 {
		plain.Fprintf(w, "# Values of Secrets are hidden, and these manifests are refused: ordapply rollback applies a revision.\n")
	}
	for _, resource := range manifests(r) {
		text, err := tree.PrintObject(resource.Object)
		if err != nil {
			return fmt.Errorf("print %s: %w", resource.ID, err)
		}
		if _, err := w.Write(append([]byte("---\n"), text...)); err != nil {
			return err
		}
	}
	return nil
}

// shownJSON is a revision with its manifests.
type shownJSON struct {
	revisionJSON
	Manifests []map[string]any `json:"manifests"`
}

func manifestsInJSON(r *history.Revision) shownJSON {
	out := shownJSON{revisionJSON: revisionInJSON(r), Manifests: []map[string]any{}}
	for _, resource := range manifests(r) {
		out.Manifests = append(out.Manifests, resource.Object)
	}
	return out
}

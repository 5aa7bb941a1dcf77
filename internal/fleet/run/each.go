package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/ordering"
)

// atOnce is how many clusters are planned, or compared, at the same time: the memory for it
// does not grow with the fleet.
const atOnce = 16

// each calls do for every cluster, some at the same time, and returns the results in the
// order of the clusters.
func each[T any](ctx context.Context, clusters []fleet.Cluster, do func(context.Context, fleet.Cluster) T) []T {
	out := make([]T, len(clusters))
	activity.Each(len(clusters), atOnce, func(at int) { out[at] = do(ctx, clusters[at]) })
	return out
}

// namedError is an error of some clusters.
type namedError struct {
	clusters []string
	err      error
}

func (e *namedError) Error() string { return join(e.clusters) + ": " + e.err.Error() }

func (e *namedError) Unwrap() error { return e.err }

// name returns the errors of clusters with their names. Equal errors are one; errors that
// all clusters have in common have no names.
func name(clusters []fleet.Cluster, errs []error) []error {
	var all []*namedError
	for i, c := range clusters {
		for _, err := range ordering.FlattenErrors(errs[i]) {
			at := slices.IndexFunc(all, func(e *namedError) bool { return e.err.Error() == err.Error() })
			if at < 0 {
				all = append(all, &namedError{err: err})
				at = len(all) - 1
			}
			if e := all[at]; !slices.Contains(e.clusters, c.Name) {
				e.clusters = append(e.clusters, c.Name)
			}
		}
	}
	var out []error
	for _, e := range all {
		if len(e.clusters) == len(clusters) && len(clusters) > 1 {
			out = append(out, fmt.Errorf("all clusters: %w", e.err))
			continue
		}
		out = append(out, e)
	}
	return out
}

// lines returns the lines of a text without the newline at its end.
func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// join returns the names of clusters for a message, at most three of them.
func join(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

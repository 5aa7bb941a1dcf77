// Package plan shows the changes of an apply: as text, as JSON, as a comment for a pull request,
// or as a diff.
//
//	previewed := plan.Previewed{Target: target, Plan: planned, Preview: preview}
//	err := previewed.WriteText(os.Stdout, plan.Style{})
package plan

import (
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/ordering"
)

// Previewed is a plan with its preview on a cluster.
type Previewed struct {
	Target  *connect.Target
	Plan    *ordering.Plan
	Preview *preview.Preview
	Hooks   []ordering.Resource // the hooks of the stream
	// LostOrder reports objects that were applied last in the order of a SortOrder, and whose
	// manifests have none; nil if there are none.
	LostOrder error
	// Anonymous leaves out the address and the context of the cluster in JSON and Markdown, so
	// that the previews of several clusters can be compared.
	Anonymous bool
}

package wait

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// AbsentNotes returns a note for each object outside the stream that a plan waits for and
// that does not exist. Objects that may not be read have none.
func AbsentNotes(ctx context.Context, cluster kube.Reads, plan *ordering.Plan) []string {
	type dependent struct {
		step object.ID
		need ordering.Need
	}
	var first []dependent // for each object
	seen := map[object.ID]bool{}
	for _, s := range plan.Steps {
		for _, need := range s.External {
			if !seen[need.ID] {
				seen[need.ID] = true
				first = append(first, dependent{s.ID, need})
			}
		}
	}
	absent := make([]bool, len(first))
	activity.Each(len(first), 32, func(i int) { absent[i] = isAbsent(ctx, cluster, first[i].need.ID) })
	var notes []string
	for i, d := range first {
		if absent[i] {
			notes = append(notes, fmt.Sprintf("%s needs %s, which is not in this stream and does not exist yet: a run waits for it (%s)", d.step, d.need.ID, d.need.Why.Detail))
		}
	}
	return notes
}

// isAbsent reports whether an object does not exist, or the cluster does not serve its kind.
func isAbsent(ctx context.Context, cluster kube.Reads, id object.ID) bool {
	kind, served := kube.KindsOf(cluster)(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
	if !served {
		return true
	}
	_, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	return fault.IsMissing(err)
}

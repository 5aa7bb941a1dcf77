package status

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// explain adds to the members that are not ready what keeps their Pods from starting, with two
// requests for each of the first few. The run has given up on them: a member that is progressing is
// degraded then.
func (s *setStatus) explain(ctx context.Context, cluster kube.Cluster, live map[object.ID]*unstructured.Unstructured) {
	troubles := map[object.ID]*string{}
	turns := diagnose.NewTurns()
	for _, m := range s.members() {
		if live[m.ID] == nil || m.Verdict == health.Ready || !turns.Left() {
			continue
		}
		trouble := new(string)
		troubles[m.ID] = trouble
		turns.Go(ctx, func(ctx context.Context) { *trouble = diagnose.Trouble(ctx, cluster, live[m.ID]) })
	}
	turns.Wait()
	for _, section := range s.Sections {
		for i := range section.Members {
			m := &section.Members[i]
			if trouble := troubles[m.ID]; trouble != nil && *trouble != "" {
				m.Reason += "; " + *trouble
				if m.grade() == health.GradeProgressing {
					m.Grade = health.GradeDegraded
				}
			}
		}
	}
}

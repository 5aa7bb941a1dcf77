package diagnose

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// The finding that explains most comes first, and is the cause, without times: what keeps a Pod
// from starting, then events of other objects, what is known about them, and the resource's own
// words.
func TestTheCauseComesFirst(t *testing.T) {
	web, pod := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, object.ID{Kind: "Pod", Namespace: "shop", Name: "web-1"}
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	condition := func(q *Diagnoser) {
		q.addDated(web, "condition Available is False for 2m0s (X)", "condition Available is False (X)", "no minimum availability")
	}
	podIs := func(state map[string]any) func(*Diagnoser) {
		return func(q *Diagnoser) {
			live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "web-1"},
				"status": map[string]any{"phase": "Pending", "containerStatuses": []any{map[string]any{"name": "c", "ready": false, "restartCount": int64(3), "state": state,
					"lastState": map[string]any{}}}}}}
			q.pods(t.Context(), live, []*unstructured.Unstructured{live})
		}
	}
	mount := func(q *Diagnoser) {
		q.addDated(pod, "event FailedMount 3s ago: no volume", "event FailedMount: no volume", "").explains = explainsEvent
	}
	ended := map[string]any{"terminated": map[string]any{"exitCode": int64(1), "finishedAt": "2026-03-01T08:59:00Z"}}
	for name, c := range map[string]struct {
		add  []func(*Diagnoser)
		want string
	}{
		"nothing":          {nil, ""},
		"its condition":    {[]func(*Diagnoser){condition}, "condition Available is False (X): no minimum availability"},
		"a Pod that ended": {[]func(*Diagnoser){condition, mount, podIs(ended)}, "Pod shop/web-1: container c: terminated, exit code 1"},
		"a new Pod":        {[]func(*Diagnoser){condition, podIs(map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}})}, "condition Available is False (X): no minimum availability"},
		"an event":         {[]func(*Diagnoser){condition, podIs(map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}), mount}, "Pod shop/web-1: event FailedMount: no volume"},
		"without message":  {[]func(*Diagnoser){func(q *Diagnoser) { q.addFinding(web, "0 of 1 Pods exist") }, condition}, "condition Available is False (X): no minimum availability"},
	} {
		t.Run(name, func(t *testing.T) {
			q := &Diagnoser{of: web, Now: now, EventsRead: map[types.UID]bool{"": true}}
			for _, add := range c.add {
				add(q)
			}
			d := q.diagnosis()
			require.Equal(t, c.want, d.Cause)
			require.Len(t, d.Findings, len(c.add))
			if len(c.add) > 0 {
				withoutTimes := regexp.MustCompile(` for 2m0s|, 1m0s ago, 3 restarts| 3s ago`).ReplaceAllString(d.Text(d.Findings[0]), "")
				require.Equal(t, c.want, withoutTimes)
			}
		})
	}
}

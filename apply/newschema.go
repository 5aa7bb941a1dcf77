package apply

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/wait"
)

// schemaPause is the pause between two reads of a schema.
const schemaPause = 200 * time.Millisecond

// awaitSchema ends a changed CustomResourceDefinition when the API server publishes its new
// schema: it stays Established all the time, so that its status proves nothing. An API
// server that publishes no schema, or not to this account, is not waited for, and after the
// time limit the first rejections of custom resources are repeated anyway. Every change of
// the definition leads here; one wait is enough.
func (r *run) awaitSchema(i int) {
	if s := &r.steps[i]; !s.awaitsSchema {
		s.awaitsSchema = true
		r.askForSchema(i, time.Now().Add(schemaPropagation))
	}
}

func (r *run) askForSchema(i int, limit time.Time) {
	live := r.steps[i].lastSeen
	if r.steps[i].state != event.Waiting {
		return
	}
	request := func(ctx context.Context) (bool, error) { return wait.IsSchemaPublished(ctx, r.applier.Cluster, live) }
	loop.Ask(&r.Loop, request, func(published bool, err error) {
		switch s := &r.steps[i]; {
		case s.state != event.Waiting:
		case published, apierrors.IsNotFound(err), apierrors.IsForbidden(err), time.Now().After(limit):
			r.finishReady(i, "")
		default:
			r.wait(i, event.Waiting, event.WaitKind, "its new schema is not served yet")
			r.After(schemaPause, func() { r.askForSchema(i, limit) })
		}
	})
}

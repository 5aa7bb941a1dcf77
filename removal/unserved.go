package removal

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
)

// confirm finds out what a bare 404 means: the kind is gone, and the object
// with it; or the path is temporarily not served, or a proxy answered, and
// the object may still exist.
func (r *removal) confirm(i int, cause error) {
	cluster, gk := r.Cluster, schema.GroupKind{Group: r.steps[i].ID.Group, Kind: r.steps[i].ID.Kind}
	r.Enqueue(func(ctx context.Context) func() {
		err := kube.ConfirmGone(ctx, cluster, gk)
		return func() { r.handleConfirmation(i, cause, err) }
	})
}

func (r *removal) handleConfirmation(i int, cause, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case err == nil:
		r.handleGone(i)
	case s.accepted:
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	default:
		r.retryOrFail(i, &unconfirmedError{cause, err}, func() { r.reread(i) })
	}
}

// unconfirmedError is a bare 404 that does not prove that an object is gone.
type unconfirmedError struct{ cause, why error }

func (e *unconfirmedError) Error() string {
	return fmt.Sprintf("the API server returned a bare 404 (%v), which does not prove that it is gone: %v", e.cause, e.why)
}

func (e *unconfirmedError) Unwrap() []error { return []error{e.cause, e.why} }

// explainDeletion adds a remedy to the error of a deletion.
func explainDeletion(err error) error {
	if _, says := errors.AsType[*unconfirmedError](err); says {
		return err
	}
	return kubeerr.Explain(err)
}

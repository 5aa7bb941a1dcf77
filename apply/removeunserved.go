package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// confirm finds out what the bare 404 to a request about an object means: its kind
// is gone, and the object with it; or the path is not served for the moment, or a
// proxy answered, and the object may still exist.
func (r *removal) confirm(i int, cause error) {
	cluster, gk := r.Cluster, schema.GroupKind{Group: r.steps[i].ID.Group, Kind: r.steps[i].ID.Kind}
	r.enqueue(func(ctx context.Context) func() {
		err := confirmGone(ctx, cluster, gk)
		return func() { r.confirmed(i, cause, err) }
	})
}

func (r *removal) confirmed(i int, cause, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case err == nil:
		r.gone(i)
	case s.accepted:
		r.after(pollEvery, func() { r.lookAgain(i) })
	default:
		r.trouble(i, &unconfirmed{cause, err}, func() { r.look(i) })
	}
}

// unconfirmed is a bare 404 that does not prove that an object is gone.
type unconfirmed struct{ cause, why error }

func (e *unconfirmed) Error() string {
	return fmt.Sprintf("it was answered with a bare 404 (%v), which does not prove that it is gone: %v", e.cause, e.why)
}

func (e *unconfirmed) Unwrap() []error { return []error{e.cause, e.why} }

// explainDeletion adds to the answer to a request about a deleted object what to
// do about it.
func explainDeletion(err error) error {
	if _, says := errors.AsType[*unconfirmed](err); says {
		return err
	}
	return explain(err)
}

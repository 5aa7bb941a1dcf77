package loop

import (
	"context"
	"time"
)

// WithTimeout returns a context that ends after limit with a cause, which
// should match context.DeadlineExceeded: a run then ends by its timeout instead
// of an interrupt. Use PastDeadline for work that must outlive the timeout, such
// as explaining the end of a run.
func WithTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, cause)
	return context.WithValue(limited, withoutTimeoutKey{}, ctx), cancel
}

// withoutTimeoutKey is the key of the context that ends on an interrupt alone: a context
// that is done cannot tell of a second end.
type withoutTimeoutKey struct{}

// PastDeadline returns a context with the values of ctx that lasts at most
// limit. It ends on an interrupt, but not by the timeout of WithTimeout.
func PastDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	before, ok := ctx.Value(withoutTimeoutKey{}).(context.Context)
	if !ok || EndOf(ctx) != ByRunTimeout {
		return context.WithTimeout(ctx, limit)
	}
	past, end := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(before, func() { end(context.Cause(before)) })
	return context.WithTimeout(past, limit)
}

// Explaining returns the context for finding out why a run ended: ctx, or
// some extra time when the run's timeout expired.
func Explaining(ctx context.Context, extra time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return PastDeadline(ctx, extra)
}

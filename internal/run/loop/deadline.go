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

type withoutTimeoutKey struct{}

// PastDeadline returns a context with the values of ctx that lasts at most
// limit. It ends on an interrupt, but not by the timeout of WithTimeout.
func PastDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if before, ok := ctx.Value(withoutTimeoutKey{}).(context.Context); ok && EndOf(ctx) == ByRunTimeout {
		ctx = pastDeadline{before, ctx}
	}
	return context.WithTimeout(ctx, limit)
}

// pastDeadline ends with one context and has the values of another.
type pastDeadline struct {
	context.Context //nolint:containedctx // it is one
	values          context.Context
}

func (p pastDeadline) Value(key any) any {
	if value := p.Context.Value(key); value != nil {
		return value
	}
	return p.values.Value(key)
}

// Explaining returns the context for finding out why a run ended: ctx, or
// some extra time when the run's timeout expired.
func Explaining(ctx context.Context, extra time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return PastDeadline(ctx, extra)
}

package apply

import (
	"context"
	"time"
)

// WithTimeout ends a context after a while, with a cause that should be a
// context.DeadlineExceeded to errors.Is. All that a command does has such a
// context. What explains the end of a run comes after it, see PastDeadline.
func WithTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, cause)
	return context.WithValue(limited, withoutTimeoutKey{}, ctx), cancel
}

type withoutTimeoutKey struct{}

// PastDeadline is a context that the timeout of WithTimeout does not end and an
// interrupt does, for at most so long. It has the values of ctx.
func PastDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if before, ok := ctx.Value(withoutTimeoutKey{}).(context.Context); ok && endOf(ctx) == byRunTimeout {
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

// explaining is the context for asking why a run ended as it did: ctx, or when
// the run's time is over some time more.
func explaining(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return PastDeadline(ctx, diagnosisTimeout)
}

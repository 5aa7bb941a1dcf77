package apply

import (
	"context"
	"time"

	"github.com/ordapply/ordapply/internal/loop"
)

// WithTimeout returns a context that ends after limit with a cause, which
// should match context.DeadlineExceeded: a run then ends by its timeout instead
// of an interrupt. Use PastDeadline for work that must outlive the timeout, such
// as explaining the end of a run.
func WithTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	return loop.WithTimeout(ctx, limit, cause)
}

// PastDeadline returns a context with the values of ctx that lasts at most
// limit. It ends on an interrupt, but not by the timeout of WithTimeout.
func PastDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return loop.PastDeadline(ctx, limit)
}

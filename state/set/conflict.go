package set

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// writeAttempts bounds the attempts to read and write an object while others change
// it.
const writeAttempts = 8

// retryOnConflict calls write, which reads and writes an object, until it returns
// something other than a conflict, with growing pauses from the second conflict on.
// client-go's RetryOnConflict would not end its pauses with ctx.
func retryOnConflict(ctx context.Context, write func() error) error {
	for n := 0; ; n++ {
		err := write()
		if !apierrors.IsConflict(err) || n+1 == writeAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(n) * 100 * time.Millisecond):
		}
	}
}

package report

import (
	"context"
	"errors"
)

// onInterrupt calls do when the context is canceled by an interrupt, but not
// when --timeout has expired.
func onInterrupt(ctx context.Context, do func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			do()
		}
	})
}

// interruptOf returns a channel that is closed by an interrupt.
func interruptOf(ctx context.Context) <-chan struct{} {
	heard := make(chan struct{})
	onInterrupt(ctx, func() { close(heard) })
	return heard
}

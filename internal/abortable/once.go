package abortable

import (
	"context"
	"sync"
)

// A command that runs several times in one process, once for each cluster of a fleet, must
// read the same every time: standard input can be read only once, and a file may change
// in the meantime.

type onceKey struct{}

// readings is what was read, or is being read, by its key.
type readings struct {
	mu  sync.Mutex
	all map[any]func() (any, error)
}

// ReadOnce returns a context in which everything that Once reads is read only once.
func ReadOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, &readings{all: map[any]func() (any, error){}})
}

// IsReadOnce reports whether ReadOnce returned the context, or a parent of it.
func IsReadOnce(ctx context.Context) bool { return ctx.Value(onceKey{}) != nil }

// Once returns what read returns. In a context of ReadOnce it returns what the first call
// with the same key did, which callers must not change. It may block as long as read
// does, so call it only within Run.
func Once[T any](ctx context.Context, key any, read func() (T, error)) (T, error) {
	known, _ := ctx.Value(onceKey{}).(*readings)
	if known == nil {
		return read()
	}
	known.mu.Lock()
	first := known.all[key]
	if first == nil {
		first = sync.OnceValues(func() (any, error) { return read() })
		known.all[key] = first
	}
	known.mu.Unlock()
	value, err := first()
	return value.(T), err
}

package abortable

import (
	"context"
	"sync"
)

// A command reads each file that a flag names once for all uses: a FIFO, as of a shell's <(…),
// can be read only once, and a file may change in the meantime. A command that runs several
// times in one process, once for each cluster of a fleet, reads its manifests once, too.

type onceKey struct{}

// readings are finished and pending reads by key.
type readings struct {
	mu        sync.Mutex
	all       map[any]func() (any, error)
	manifests bool
}

// ReadOnce returns a context in which everything that Once reads is read only once, even by
// several commands, and manifests with it.
func ReadOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, &readings{all: map[any]func() (any, error){}, manifests: true})
}

// IsReadOnce reports whether ReadOnce returned the context, or a parent of it.
func IsReadOnce(ctx context.Context) bool {
	known, _ := ctx.Value(onceKey{}).(*readings)
	return known != nil && known.manifests
}

// readFilesOnce returns a context in which a command reads each file once.
func readFilesOnce(ctx context.Context) context.Context {
	if ctx.Value(onceKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, onceKey{}, &readings{all: map[any]func() (any, error){}})
}

// Once returns the result of read. In the context of a command it is the result of the first
// call with the same key, which callers must not change. It may block as long as read does,
// so call it only within Run.
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

package console

import (
	"context"
	"sync"

	"github.com/ordapply/ordapply/internal/cli/abortable"
)

// A command reads each file that a flag names once for all uses: a FIFO, as of a shell's <(…),
// can be read only once, and a file may change in the meantime. Commands with shared files, one
// for each cluster of a fleet, read their manifests once, too.

// files are finished and pending reads by key.
type files struct {
	mu  sync.Mutex
	all map[any]func() (any, error)
}

func newFiles() *files { return &files{all: map[any]func() (any, error){}} }

// Once returns the result of read, or of the first call with the same key on this console, or
// on one that shares its files. Callers must not change it. It may block as long as read does,
// so call it only within abortable.Run.
func Once[T any](c *Console, key any, read func() (T, error)) (T, error) {
	c.files.mu.Lock()
	first := c.files.all[key]
	if first == nil {
		first = sync.OnceValues(func() (any, error) { return read() })
		c.files.all[key] = first
	}
	c.files.mu.Unlock()
	value, err := first()
	return value.(T), err
}

// fileKey is the key of a file.
type fileKey string

// ReadFile is abortable.ReadFile, once for each file.
func (c *Console) ReadFile(ctx context.Context, name, flag string) ([]byte, error) {
	return abortable.Run(ctx, "reading "+name+" ("+flag+")", func(context.Context) ([]byte, error) {
		return Once(c, fileKey(name), func() ([]byte, error) { return abortable.ReadAll(name) })
	})
}

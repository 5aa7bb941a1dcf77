package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Checked is standard output. It remembers the first failed write, so
// that no command exits with 0 after losing output, even if it ignores write
// errors. A closed pipe is not a failure.
type Checked struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

// NewChecked returns a writer that passes its writes on to w.
func NewChecked(w io.Writer) *Checked { return &Checked{to: w} }

// Write writes to the underlying writer.
func (c *Checked) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	if err == nil {
		return n, nil
	}
	var path *os.PathError // its path is that of standard output
	if errors.As(err, &path) {
		err = path.Err
	}
	err = fmt.Errorf("write standard output: %w", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !isClosedPipe(err) {
		c.err = err
	}
	return n, err
}

// FirstErr returns the error of the first failed write, or nil.
func (c *Checked) FirstErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// FileOf returns the file that a writer writes to, or nil.
func FileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *Checked:
		return FileOf(w.to)
	}
	return nil
}

// isClosedPipe reports whether the reader closed its end.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

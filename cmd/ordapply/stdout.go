package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// checkedOutput is standard output. It remembers the first failed write, so
// that no command exits with 0 after losing output, even if it ignores write
// errors. A closed pipe is not a failure.
type checkedOutput struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

func (c *checkedOutput) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	if err == nil {
		return n, nil
	}
	var path *os.PathError // its path is that of whatever standard output is
	if errors.As(err, &path) {
		err = path.Err
	}
	err = fmt.Errorf("write standard output: %w", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
		c.err = err
	}
	return n, err
}

// Stat returns the FileInfo of the underlying file.
func (c *checkedOutput) Stat() (os.FileInfo, error) {
	if file := fileOf(c.to); file != nil {
		return file.Stat()
	}
	return nil, errors.ErrUnsupported
}

// failed joins the write error with the error of a command. It replaces
// errDifferent, so that a diff that could not be printed fails.
func (c *checkedOutput) failed(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err == nil || errors.Is(err, c.err):
		return err
	case errors.Is(err, errDifferent):
		return c.err
	}
	return errors.Join(err, c.err)
}

// fileOf returns the file that a writer writes to, or nil.
func fileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *checkedOutput:
		return fileOf(w.to)
	}
	return nil
}

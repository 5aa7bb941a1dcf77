package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// checkedOutput is standard output. It remembers the first write that failed, so that no
// verb ends with 0 whose output was lost: also one that does not look at the answers
// to its writes. A reader that left took what it wanted: that is no failure.
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

// Stat is that of the file behind it.
func (c *checkedOutput) Stat() (os.FileInfo, error) {
	if file := fileOf(c.to); file != nil {
		return file.Stat()
	}
	return nil, errors.ErrUnsupported
}

// failed adds what kept output from being written to the error of a verb. That a diff
// found something does not hide that it could not be printed.
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

// fileOf is the file that a writer writes to; nil where it is none.
func fileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *checkedOutput:
		return fileOf(w.to)
	}
	return nil
}

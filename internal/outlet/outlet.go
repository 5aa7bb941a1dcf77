// Package outlet is an asynchronous writer: writes never block, however slowly
// the output is read, and even if nothing reads it.
//
//	out := outlet.New(os.Stdout)
//	fmt.Fprintln(out, "never blocks")
//	err := out.Close(ctx) // waits while the reader makes progress
package outlet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// CloseTimeout is how long Close waits for a reader that makes no progress: long
// enough for a user of a pager, too short to hang forever.
const CloseTimeout = time.Minute

// interruptedTimeout replaces CloseTimeout when the context of Close is done.
const interruptedTimeout = 2 * time.Second

// writeSize is the size of one write, so that progress of a slow reader is noticed.
// A pipe's buffer is larger.
const writeSize = 16 << 10

// Writer writes in order from its own goroutine. It buffers everything that has
// not been read yet in memory.
type Writer struct {
	to   io.Writer
	wake chan struct{} // signals new data or Close
	took chan struct{} // signals that the reader made progress
	done chan struct{}

	mu      sync.Mutex
	pending []byte
	closed  bool
	err     error // the error that ended writing
}

// New returns a Writer to another one, to which nothing else may write until Close.
func New(to io.Writer) *Writer {
	o := &Writer{
		to:   to,
		wake: make(chan struct{}, 1), took: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go o.pass()
	return o
}

// Pair returns a Writer for each of two writers, or the same one for both if
// they are the same file, so that their lines stay in order.
func Pair(out, err io.Writer) (*Writer, *Writer) {
	first := New(out)
	if same(out, err) {
		return first, first
	}
	return first, New(err)
}

func same(a, b io.Writer) bool {
	left, right := statOf(a), statOf(b)
	return left != nil && right != nil && os.SameFile(left, right)
}

// statOf returns the FileInfo of a writer's file, or nil.
func statOf(w io.Writer) os.FileInfo {
	file, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	return info
}

// Write buffers p and returns immediately, always with success.
func (o *Writer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !o.closed {
		o.pending = append(o.pending, p...)
		o.wakeUp()
	}
	return len(p), nil
}

// Close returns when everything was read, the reader is gone, or it has made no
// progress for CloseTimeout (2 seconds once ctx is done). A second call has no
// effect. The error is an *UnreadError, or that of the underlying writer; a
// reader that closed the pipe, such as head, is not an error.
func (o *Writer) Close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	o.wakeUp()
	o.mu.Unlock()
	waited := Await(ctx.Done(), o.done, o.took)
	if waited == 0 {
		return o.outcome()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return &UnreadError{Waited: waited, Bytes: len(o.pending)}
}

// UnreadError reports a Writer whose reader makes no progress.
type UnreadError struct {
	Waited time.Duration // since the last progress
	Bytes  int           // not written
}

// Error names the time and the number of bytes.
func (e *UnreadError) Error() string {
	return fmt.Sprintf("not read for %s: the last %d bytes are lost", e.Waited, e.Bytes)
}

// Await returns 0 when done is closed, or the time that it waited: CloseTimeout
// since the last progress, or 2 seconds once stop is closed.
func Await(stop, done, progress <-chan struct{}) time.Duration {
	patience := CloseTimeout
	for {
		select {
		case <-done:
			return 0
		case <-progress:
		case <-stop:
			patience, stop = interruptedTimeout, nil
		case <-time.After(patience):
			return patience
		}
	}
}

func (o *Writer) outcome() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isGone(o.err) {
		return nil
	}
	return o.err
}

// wakeUp wakes the writing goroutine.
func (o *Writer) wakeUp() { signal(o.wake) }

// pass writes in pieces until the Writer is closed and empty, or the reader is
// gone.
func (o *Writer) pass() {
	defer close(o.done)
	for range o.wake {
		for {
			next, last := o.next()
			if len(next) == 0 {
				if last {
					return
				}
				break
			}
			n, err := o.to.Write(next)
			o.passed(n, err)
			if err != nil {
				return
			}
		}
	}
}

// next returns the next piece; last is set when no more will be added.
func (o *Writer) next() (next []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending[:min(writeSize, len(o.pending))], o.closed
}

func (o *Writer) passed(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = o.pending[n:]
	if len(o.pending) == 0 {
		o.pending = nil // free the memory
	}
	if err != nil {
		o.err, o.pending = err, nil
	}
	signal(o.took)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isGone reports whether the reader closed its end.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

package files

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
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
	to       io.Writer
	wake     chan struct{} // signals new data or Close
	progress chan struct{} // signals that the reader made progress
	done     chan struct{}

	mu      sync.Mutex
	pending []byte
	held    []byte      // by Hold
	late    *time.Timer // ends the time of Hold
	closed  bool
	err     error // the error that ended writing
}

// NewWriter returns a Writer to another one, to which nothing else may write until Close.
func NewWriter(to io.Writer) *Writer {
	w := &Writer{
		to:   to,
		wake: make(chan struct{}, 1), progress: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Pair returns a Writer for each of two writers, or the same one for both if
// they are the same file, so that their lines stay in order.
func Pair(out, err io.Writer) (*Writer, *Writer) {
	first := NewWriter(out)
	if same(out, err) {
		return first, first
	}
	return first, NewWriter(err)
}

// same reports whether two writers write to the same file.
func same(a, b io.Writer) bool {
	left, right := FileOf(a), FileOf(b)
	if left == nil || right == nil {
		return false
	}
	one, err := left.Stat()
	other, unknown := right.Stat()
	return err == nil && unknown == nil && os.SameFile(one, other)
}

// Write buffers p and returns immediately, always with success.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p) > 0 {
		w.release()
	}
	w.add(p)
	return len(p), nil
}

// Hold writes p before the text of the next Write, or when a time is over, but not if Drop
// comes first. Text that is held already is written.
func (w *Writer) Hold(p []byte, most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release()
	w.held = bytes.Clone(p)
	w.late = time.AfterFunc(most, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.release()
	})
}

// Drop discards the held text, and reports whether there was any.
func (w *Writer) Drop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.unhold()) > 0
}

// release adds the held text.
func (w *Writer) release() { w.add(w.unhold()) }

// unhold returns the text that was held until now.
func (w *Writer) unhold() []byte {
	held := w.held
	if w.held = nil; held != nil {
		w.late.Stop()
	}
	return held
}

// add adds text to what is written, unless writing has ended.
func (w *Writer) add(p []byte) {
	if w.err == nil && !w.closed {
		w.pending = append(w.pending, p...)
		signal(w.wake)
	}
}

// Close returns when everything was read, the reader is gone, or it has made no
// progress for CloseTimeout (2 seconds once ctx is done). A second call has no
// effect. The error is an *UnreadError, or that of the underlying writer; a
// reader that closed the pipe, such as head, is not an error.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.release()
	w.closed = true
	signal(w.wake)
	w.mu.Unlock()
	waited := AwaitWriter(ctx.Done(), w.done, w.progress)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case waited > 0:
		return &UnreadError{Waited: waited, Bytes: len(w.pending)}
	case isClosedPipe(w.err):
		return nil
	}
	return w.err
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

// AwaitWriter returns 0 when done is closed, or the time that it waited: CloseTimeout since
// the last progress, or 2 seconds once stop is closed.
func AwaitWriter(stop, done, progress <-chan struct{}) time.Duration {
	limit := CloseTimeout
	for {
		select {
		case <-done:
			return 0
		case <-progress:
		case <-stop:
			limit, stop = interruptedTimeout, nil
		case <-time.After(limit):
			return limit
		}
	}
}

// run writes in pieces until the Writer is closed and empty, or the reader is
// gone.
func (w *Writer) run() {
	defer close(w.done)
	for range w.wake {
		for {
			next, last := w.next()
			if len(next) == 0 {
				if last {
					return
				}
				break
			}
			n, err := w.to.Write(next)
			w.written(n, err)
			if err != nil {
				return
			}
		}
	}
}

// next returns the next piece; last is set when no more will be added.
func (w *Writer) next() (next []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending[:min(writeSize, len(w.pending))], w.closed
}

// written records the progress with the pending bytes.
func (w *Writer) written(n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = w.pending[n:]
	if len(w.pending) == 0 {
		w.pending = nil // free the memory
	}
	if err != nil {
		w.err, w.pending = err, nil
	}
	signal(w.progress)
}

// signal makes the channel, which has room for one, readable.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

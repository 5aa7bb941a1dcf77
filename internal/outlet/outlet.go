// Package outlet writes for somebody who must not wait: a run goes on however
// slowly its output is read, and when nobody reads it any longer.
//
//	out := outlet.New(os.Stdout)
//	fmt.Fprintln(out, "never blocks")
//	err := out.Close(ctx) // waits for the reader, as long as there is one
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

// Patience is how long Close waits for a reader that takes nothing: long enough
// for a person who pages through the output, too short to hang for ever.
const Patience = time.Minute

// hurry is what is left of Patience when the context of Close is over.
const hurry = 2 * time.Second

// piece is how much is written at once, so that a slow reader is seen to take
// something now and then. A pipe holds more.
const piece = 16 << 10

// Outlet passes on what is written to it, in order, from a goroutine of its
// own. What the reader has not taken yet is kept in memory, all of it.
type Outlet struct {
	to   io.Writer
	wake chan struct{} // holds one when there is something to look at
	took chan struct{} // holds one when the reader took something
	done chan struct{}

	mu      sync.Mutex
	pending []byte
	closed  bool
	err     error // what ended the writing
}

// New is an outlet to a writer, which it alone must write to until it is
// closed.
func New(to io.Writer) *Outlet {
	o := &Outlet{
		to:   to,
		wake: make(chan struct{}, 1), took: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go o.pass()
	return o
}

// Pair is an outlet for each of two writers, or one and the same when both lead
// to the same place, so that their lines stay in order there.
func Pair(out, err io.Writer) (*Outlet, *Outlet) {
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

// statOf describes the file behind a writer; nil where there is none.
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

// Write takes p and returns at once, always with success.
func (o *Outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !o.closed {
		o.pending = append(o.pending, p...)
		o.stir()
	}
	return len(p), nil
}

// Close returns when the reader has taken everything, or is gone, or has taken
// nothing for Patience, or for 2 seconds when ctx is over. Closing twice does
// nothing more. An error says what was not read; that a reader went away of its
// own will (head does) is none.
func (o *Outlet) Close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	o.stir()
	o.mu.Unlock()
	waited := Await(ctx.Done(), o.done, o.took)
	if waited == 0 {
		return o.outcome()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return &UnreadError{Waited: waited, Bytes: len(o.pending)}
}

// UnreadError is the end of an outlet whose reader takes nothing and is still there.
type UnreadError struct {
	Waited time.Duration
	Bytes  int // that were not written
}

func (e *UnreadError) Error() string {
	return fmt.Sprintf("not read for %s: the last %d bytes are lost", e.Waited, e.Bytes)
}

// Await returns 0 when done is closed, or how long it waited in vain: Patience
// after the last that came from progress, or 2 seconds once stop is closed.
func Await(stop, done, progress <-chan struct{}) time.Duration {
	patience := Patience
	for {
		select {
		case <-done:
			return 0
		case <-progress:
		case <-stop:
			patience, stop = hurry, nil
		case <-time.After(patience):
			return patience
		}
	}
}

func (o *Outlet) outcome() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isGone(o.err) {
		return nil
	}
	return o.err
}

// stir makes the writing goroutine look at what there is.
func (o *Outlet) stir() { signal(o.wake) }

// pass writes piece by piece until the outlet is closed and empty, or the
// reader is gone.
func (o *Outlet) pass() {
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

// next is what to write now; last when nothing will come any more.
func (o *Outlet) next() (next []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending[:min(piece, len(o.pending))], o.closed
}

func (o *Outlet) passed(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = o.pending[n:]
	if len(o.pending) == 0 {
		o.pending = nil // let the memory go
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

// isGone recognises a reader that closed its end.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

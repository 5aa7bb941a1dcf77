package apply

import (
	"context"
	"errors"
	"sync"
	"time"
)

// loop is how a run goes: one goroutine owns all of the run's state. Workers,
// watches and timers see nothing of that. What they bring is a func, and the
// loop calls one after the other.
type loop struct {
	over     bool // nothing is left to do
	stopping bool // no further work is handed out
	ended    endCause
	cause    error // of the context that ended it

	queue    []work // waits for a worker
	inFlight int
	todo     chan work
	answers  chan func() // of workers
	news     chan func() // of watches and timers

	reach reach

	ctx     func() context.Context // for requests and watches; outlives an interrupt by the grace
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

// work is what a worker does; what do returns is done by the loop, and taken,
// unless it is nil, when a worker has begun.
type work struct {
	do    func(context.Context) (then func())
	taken func()
}

// endCause is what ended a run before its plan did.
type endCause int

const (
	notEnded endCause = iota
	byFailure
	byRunTimeout
	byInterrupt
	byFence // it may no longer write, see ErrFenced
)

// grace is how long requests in flight may take to finish once the run has
// been told to stop.
const grace = 10 * time.Second

// employ starts the workers, which wait for keep to give them work.
func (l *loop) employ(ctx context.Context, workers int) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.ctx = func() context.Context { return ctx }
	l.todo, l.answers, l.news = make(chan work), make(chan func()), make(chan func())
	for range workers {
		l.workers.Go(func() {
			for w := range l.todo {
				select {
				case l.answers <- w.do(ctx):
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// keep goes on until the run is over, which advance finds out after each thing
// that happened. Then nothing of the run goes on.
func (l *loop) keep(ctx context.Context, advance func()) {
	interrupted := ctx.Done()
	for !l.over {
		out, head := l.next()
		select {
		case out <- head:
			l.queue = l.queue[1:]
			l.inFlight++
			if head.taken != nil {
				head.taken()
			}
		case then := <-l.answers:
			l.inFlight--
			then()
		case then := <-l.news:
			then()
		case <-interrupted:
			interrupted = nil
			l.end(endOf(ctx), context.Cause(ctx))
		}
		advance()
	}
	l.cancel()
	close(l.todo)
	l.workers.Wait()
}

// fencedOff ends the run as it may no longer write.
func (l *loop) fencedOff(err error) {
	cause := err
	for inner := errors.Unwrap(cause); inner != nil && errors.Is(inner, ErrFenced) && !errors.Is(ErrFenced, inner); inner = errors.Unwrap(cause) {
		cause = inner // without what it was that was not sent
	}
	l.end(byFence, cause)
}

// end stops the run, unless it is stopping already.
func (l *loop) end(how endCause, cause error) {
	if !l.stopping {
		l.cause = cause
	}
	l.stop(how)
}

// endOf is how a context that is over ends a run.
func endOf(ctx context.Context) endCause {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrFenced):
		return byFence
	case errors.Is(cause, context.DeadlineExceeded):
		return byRunTimeout
	}
	return byInterrupt
}

// runTimeout is how long a run may take: what it was given, or as long as its
// context lasts; 0 when neither has an end.
func runTimeout(ctx context.Context, given time.Duration) time.Duration {
	if deadline, limited := ctx.Deadline(); limited && given <= 0 {
		return time.Until(deadline)
	}
	return given
}

// next is the work to hand out; a nil channel when there is none.
func (l *loop) next() (chan<- work, work) {
	if len(l.queue) == 0 || l.stopping {
		return nil, work{}
	}
	return l.todo, l.queue[0]
}

// enqueue lets a worker do something.
func (l *loop) enqueue(do func(context.Context) (then func())) {
	l.queue = append(l.queue, work{do: do})
}

// after lets the loop do something when d has passed.
func (l *loop) after(d time.Duration, fire func()) {
	tell := l.teller(l.ctx())
	time.AfterFunc(d, func() { tell(fire) })
}

// follow opens a watch, of whose changes the loop is told until its end is
// called.
func (l *loop) follow(cluster Cluster, key watchKey, kind Kind, see func(sight)) (end context.CancelFunc) {
	ctx, cancel := context.WithCancel(l.ctx())
	tell := l.teller(ctx)
	go cluster.Watch(ctx, kind, key.namespace, key.query(), func(c Change) {
		tell(func() {
			if l.heard(c); c.Lost == nil && !c.Back {
				see(sight{key, c})
			}
		})
	})
	return cancel
}

// teller brings news to the loop, for as long as ctx lasts.
func (l *loop) teller(ctx context.Context) func(then func()) {
	news := l.news
	return func(then func()) {
		select {
		case news <- then:
		case <-ctx.Done():
		}
	}
}

// stop lets requests in flight finish and sends no more.
func (l *loop) stop(cause endCause) {
	if l.stopping {
		return
	}
	l.stopping, l.ended = true, cause
	l.after(grace, func() { l.over = true })
}

package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ordapply/ordapply/kube"
)

// loop is the event loop of a run: one goroutine owns all of the run's state.
// Workers, watches and timers do not access that state; they send functions,
// which the loop calls one after the other.
type loop struct {
	finished bool // nothing is left to do
	stopping bool // no further work is started
	endedBy  endCause
	cause    error // of the context that ended it

	queue         []task // waiting for a worker
	inFlight      int
	tasks         chan task
	results       chan func() // of workers
	notifications chan func() // of watches and timers

	connectivity connectivity

	ctx     func() context.Context // for requests and watches; outlives an interrupt by grace
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

// task is done by a worker. The loop calls the function that do returns, and
// calls started, if set, when a worker has started.
type task struct {
	do      func(context.Context) (then func())
	started func()
}

// endCause is what ended a run before its plan was complete.
type endCause int

const (
	notEnded endCause = iota
	byFailure
	byRunTimeout
	byInterrupt
	byFence // the run may no longer write, see kube.ErrFenced
)

// shutdownGrace is how long requests in flight may take to finish once the run stops.
const shutdownGrace = 10 * time.Second

// startWorkers starts the workers, which wait for tasks from runLoop.
func (l *loop) startWorkers(ctx context.Context, workers int) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.ctx = func() context.Context { return ctx }
	l.tasks, l.results, l.notifications = make(chan task), make(chan func()), make(chan func())
	for range workers {
		l.workers.Go(func() {
			for w := range l.tasks {
				select {
				case l.results <- w.do(ctx):
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// runLoop runs the loop until the run is over, which advance checks after each
// event. Then it waits for the workers to return.
func (l *loop) runLoop(ctx context.Context, advance func()) {
	interrupted := ctx.Done()
	for !l.finished {
		out, head := l.nextTask()
		select {
		case out <- head:
			l.queue = l.queue[1:]
			l.inFlight++
			if head.started != nil {
				head.started()
			}
		case then := <-l.results:
			l.inFlight--
			then()
		case then := <-l.notifications:
			then()
		case <-interrupted:
			interrupted = nil
			l.end(endOf(ctx), context.Cause(ctx))
		}
		advance()
	}
	l.cancel()
	close(l.tasks)
	l.workers.Wait()
}

// fencedOff ends the run because it may no longer write.
func (l *loop) fencedOff(err error) {
	cause := err
	for inner := errors.Unwrap(cause); inner != nil && errors.Is(inner, kube.ErrFenced) && inner != kube.ErrFenced; inner = errors.Unwrap(cause) { //nolint:errorlint // the sentinel itself is no cause
		cause = inner // drop the request that was not sent
	}
	l.end(byFence, cause)
}

// end stops the run, unless it is already stopping.
func (l *loop) end(how endCause, cause error) {
	if !l.stopping {
		l.cause = cause
	}
	l.stop(how)
}

// endOf returns how a context that is done ends a run.
func endOf(ctx context.Context) endCause {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, kube.ErrFenced):
		return byFence
	case errors.Is(cause, context.DeadlineExceeded):
		return byRunTimeout
	}
	return byInterrupt
}

// runTimeout returns how long a run may take: the given timeout, else the
// time left of its context; 0 when neither is set.
func runTimeout(ctx context.Context, given time.Duration) time.Duration {
	if deadline, limited := ctx.Deadline(); limited && given <= 0 {
		return time.Until(deadline)
	}
	return given
}

// nextTask returns the next work and the channel to send it on; a nil channel
// when there is none.
func (l *loop) nextTask() (chan<- task, task) {
	if len(l.queue) == 0 || l.stopping {
		return nil, task{}
	}
	return l.tasks, l.queue[0]
}

// enqueue queues work for a worker.
func (l *loop) enqueue(do func(context.Context) (then func())) {
	l.queue = append(l.queue, task{do: do})
}

// after makes the loop call fire when d has passed.
func (l *loop) after(d time.Duration, fire func()) {
	tell := l.notifier(l.ctx())
	time.AfterFunc(d, func() { tell(fire) })
}

// startWatch starts a watch and makes the loop call see with its changes until
// end is called.
func (l *loop) startWatch(cluster kube.Cluster, key watchKey, kind kube.Kind, see func(keyedWatchEvent)) (end context.CancelFunc) {
	ctx, cancel := context.WithCancel(l.ctx())
	tell := l.notifier(ctx)
	go cluster.Watch(ctx, kind, key.namespace, key.query(), func(c kube.WatchEvent) {
		tell(func() {
			if l.trackConnection(c); c.Disconnected == nil && !c.Reconnected {
				see(keyedWatchEvent{key, c})
			}
		})
	})
	return cancel
}

// notifier returns a function that sends functions to the loop, as long as ctx
// lasts.
func (l *loop) notifier(ctx context.Context) func(then func()) {
	news := l.notifications
	return func(then func()) {
		select {
		case news <- then:
		case <-ctx.Done():
		}
	}
}

// stop lets requests in flight finish and starts no more.
func (l *loop) stop(cause endCause) {
	if l.stopping {
		return
	}
	l.stopping, l.endedBy = true, cause
	l.after(shutdownGrace, func() { l.finished = true })
}

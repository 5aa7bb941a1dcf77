package loop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ordapply/ordapply/kube"
)

// Loop is the event loop of a run: one goroutine owns all of the run's state.
// Workers, watches and timers do not access that state; they send functions,
// which the loop calls one after the other.
type Loop struct {
	End
	Queue         []Task // waiting for a worker
	InFlight      int
	tasks         chan Task
	results       chan func() // of workers
	notifications chan func() // of watches and timers

	Outages Outages
	OnePass bool // the run ends instead of waiting: nothing is watched

	Ctx     func() context.Context // for requests and watches; outlives an interrupt by grace
	cancel  context.CancelFunc
	workers sync.WaitGroup
	timers  map[*time.Timer]bool // that have not fired
}

// End is whether and how a run ends.
type End struct {
	Finished bool // nothing is left to do
	Stopping bool // no further work is started
	EndedBy  EndCause
	Cause    error // of the context that ended it
}

// Task is done by a worker. The loop calls the function that do returns, and
// calls started, if set, when a worker has started.
type Task struct {
	Do      func(context.Context) (then func())
	Started func()
	// Obsolete reports whether the task need not be done any more; nil: it never is.
	Obsolete func() bool
	// Completes is set for the rest of an earlier task: it is also done while the run stops,
	// unless the run may no longer write.
	Completes bool
}

// EndCause is the cause of a run's end before its plan was complete.
type EndCause int

const (
	notEnded EndCause = iota
	ByFailure
	ByRunTimeout
	ByInterrupt
	ByFence   // the run may no longer write, see kube.ErrFenced
	ByWaiting // it only waits, and is one pass of several, see Loop.OnePass
)

// ShutdownGrace is how long requests in flight, and tasks with Completes, may take once the run
// stops.
const ShutdownGrace = 10 * time.Second

// StartWorkers starts the workers, which wait for tasks from RunLoop.
func (l *Loop) StartWorkers(ctx context.Context, workers int) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.Ctx = func() context.Context { return ctx }
	l.tasks, l.results, l.notifications = make(chan Task), make(chan func()), make(chan func())
	l.timers = map[*time.Timer]bool{}
	for range workers {
		l.workers.Go(func() {
			for w := range l.tasks {
				select {
				case l.results <- w.Do(ctx):
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// RunLoop runs the loop until the run is over, which advance checks after each
// event. Then it waits for the workers to return.
func (l *Loop) RunLoop(ctx context.Context, advance func()) {
	interrupted := ctx.Done()
	for !l.Finished {
		out, head := l.nextTask()
		select {
		case out <- head:
			l.Queue = l.Queue[1:]
			l.InFlight++
			if head.Started != nil {
				head.Started()
			}
		case then := <-l.results:
			l.InFlight--
			then()
		case then := <-l.notifications:
			then()
		case <-interrupted:
			interrupted = nil
			l.end(EndOf(ctx), context.Cause(ctx))
		}
		advance()
	}
	l.cancel()
	for timer := range l.timers {
		timer.Stop() // it would keep the whole run in memory
	}
	close(l.tasks)
	l.workers.Wait()
}

// FencedOff ends the run because it may no longer write.
func (l *Loop) FencedOff(err error) {
	cause := err
	for inner := errors.Unwrap(cause); inner != nil && errors.Is(inner, kube.ErrFenced) && inner != kube.ErrFenced; inner = errors.Unwrap(cause) { //nolint:errorlint // the sentinel itself is no cause
		cause = inner // drop the request that was not sent
	}
	l.end(ByFence, cause)
}

// end stops the run, unless it is already stopping.
func (l *Loop) end(how EndCause, cause error) {
	if !l.Stopping {
		l.Cause = cause
	}
	l.Stop(how)
}

// EndOf returns how a context that is done ends a run.
func EndOf(ctx context.Context) EndCause {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, kube.ErrFenced):
		return ByFence
	case errors.Is(cause, context.DeadlineExceeded):
		return ByRunTimeout
	}
	return ByInterrupt
}

// RunTimeout returns how long a run may take: the given timeout, else the
// time left of its context; 0 when neither is set.
func RunTimeout(ctx context.Context, given time.Duration) time.Duration {
	if deadline, limited := ctx.Deadline(); limited && given <= 0 {
		return time.Until(deadline)
	}
	return given
}

// nextTask returns the next work and the channel to send it on; a nil channel
// when there is none.
func (l *Loop) nextTask() (chan<- Task, Task) {
	if l.Stopping {
		l.Queue = slices.DeleteFunc(l.Queue, func(t Task) bool { return !t.Completes || l.EndedBy == ByFence })
	}
	for len(l.Queue) > 0 && l.Queue[0].Obsolete != nil && l.Queue[0].Obsolete() {
		l.Queue = l.Queue[1:]
	}
	if len(l.Queue) == 0 {
		return nil, Task{}
	}
	return l.tasks, l.Queue[0]
}

// Enqueue queues work for a worker.
func (l *Loop) Enqueue(do func(context.Context) (then func())) {
	l.Queue = append(l.Queue, Task{Do: do})
}

// Ask makes a request in a worker, and makes the loop handle its answer.
func Ask[T any](l *Loop, request func(context.Context) (T, error), handle func(T, error)) {
	l.Enqueue(func(ctx context.Context) func() {
		answer, err := request(ctx)
		return func() { handle(answer, err) }
	})
}

// After makes the loop call fire when d has passed.
func (l *Loop) After(d time.Duration, fire func()) {
	notify := l.notifier(l.Ctx())
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		notify(func() {
			delete(l.timers, timer)
			fire()
		})
	})
	l.timers[timer] = true
}

// Poster returns a function that makes the loop call functions, from any goroutine, as long as
// the run lasts.
func (l *Loop) Poster() func(then func()) { return l.notifier(l.Ctx()) }

// HasRoom reports whether so few tasks are queued that a worker may soon have none. Thousands of
// tasks in the queue would only take memory.
func (l *Loop) HasRoom() bool { return len(l.Queue) < queuedTasks }

// queuedTasks is the number of queued tasks with which no worker has to wait for the next.
const queuedTasks = 256

// IsIdle reports whether no request is in flight or queued: the run waits.
func (l *Loop) IsIdle() bool { return l.InFlight == 0 && len(l.Queue) == 0 }

// StartWatch starts a watch and makes the loop call see with its changes until
// end is called. It does nothing with OnePass.
func (l *Loop) StartWatch(cluster kube.Cluster, key WatchKey, kind kube.Kind, see func(KeyedWatchEvent)) (end context.CancelFunc) {
	if l.OnePass {
		return func() {}
	}
	ctx, cancel := context.WithCancel(l.Ctx())
	notify := l.notifier(ctx)
	go cluster.Watch(ctx, kind, key.Namespace, key.query(), func(c kube.WatchEvent) {
		notify(func() {
			if l.trackConnection(c); c.Disconnected == nil && !c.Reconnected {
				see(KeyedWatchEvent{key, c})
			}
		})
	})
	return cancel
}

// notifier returns a function that sends functions to the loop, as long as ctx
// lasts.
func (l *Loop) notifier(ctx context.Context) func(then func()) {
	news := l.notifications
	return func(then func()) {
		select {
		case news <- then:
		case <-ctx.Done():
		}
	}
}

// Stop lets requests in flight finish and starts no more, except for tasks that complete
// others.
func (l *Loop) Stop(cause EndCause) {
	if l.Stopping {
		return
	}
	l.Stopping, l.EndedBy = true, cause
	l.After(ShutdownGrace, func() { l.Finished = true })
}

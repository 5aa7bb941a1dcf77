package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/liveview"
	"github.com/ordapply/ordapply/internal/outlet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// teller tells somebody about a run: begin, any number of event, end. event is
// called from the loop of the run and must not block. extend comes between
// events when the plan gets further waves: those of a prune.
type teller interface {
	begin()
	event(apply.Event)
	extend(*ordering.Plan)
	rollBack(revision int, plan *ordering.Plan)
	end(events.Outcome)
}

// tellers tell one after the other.
type tellers []teller

func (t tellers) begin() {
	for _, one := range t {
		one.begin()
	}
}

func (t tellers) event(e apply.Event) {
	for _, one := range t {
		one.event(e)
	}
}

func (t tellers) extend(plan *ordering.Plan) {
	for _, one := range t {
		one.extend(plan)
	}
}

func (t tellers) rollBack(revision int, plan *ordering.Plan) {
	for _, one := range t {
		one.rollBack(revision, plan)
	}
}

func (t tellers) end(o events.Outcome) {
	for _, one := range t {
		one.end(o)
	}
}

// heed lets people know at once that an interrupt was heard, until stop is called:
// what was sent may take its time. What is drawn says so itself.
func (t tellers) heed(ctx context.Context, stderr io.Writer) (stop func() bool) {
	if l, drawn := t[len(t)-1].(*live); drawn {
		saySlow(ctx, func(text string) { l.later(func() { plain.Fprintln(l.stays, text) }) })
		return func() bool { return true }
	}
	return onInterrupt(ctx, func() { plain.Fprintln(stderr, liveview.Interrupted) })
}

// onInterrupt calls a function when a context ends by an interrupt, and not when
// its --timeout is over.
func onInterrupt(ctx context.Context, do func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			do()
		}
	})
}

// interruptOf is closed by such an interrupt.
func interruptOf(ctx context.Context) <-chan struct{} {
	heard := make(chan struct{})
	onInterrupt(ctx, func() { close(heard) })
	return heard
}

// outputs are the two streams of a command whose readers may be slow, or leave,
// without holding it up.
type outputs struct{ out, err *outlet.Outlet }

// openOutputs stands between a command and its readers until close. From then
// on a reader that leaves does not end the process, as it would by SIGPIPE.
func openOutputs(cmd *cobra.Command) outputs {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	out, err := outlet.Pair(cmd.OutOrStdout(), cmd.ErrOrStderr())
	saySlow(cmd.Context(), func(text string) { plain.Fprintln(err, text) })
	verboseLogOf(cmd.Context()).writeTo(err)
	return outputs{out, err}
}

// close waits for the readers as long as they read.
func (o outputs) close(ctx context.Context) {
	unread := new(outlet.UnreadError)
	if err := o.out.Close(ctx); errors.As(err, &unread) && o.out != o.err {
		plain.Fprintf(o.err, "standard output: %v\n", err)
	} // checkedOutput has any other error
	_ = o.err.Close(ctx) // standard error has no place to report its own
}

// eventLines tells a run to programs, as -o json.
type eventLines struct {
	log   *events.Log
	plan  *ordering.Plan
	start events.RunStart
}

func (f *applyFlags) newEventLines(w io.Writer, j job) *eventLines {
	return &eventLines{log: events.NewLog(w), plan: j.plan, start: events.RunStart{
		Server: j.target.server, Context: j.target.context, DryRun: f.dryRun == "server", Schedule: f.schedule,
	}}
}

func (l *eventLines) begin()                     { l.log.Begin(l.plan, l.start) }
func (l *eventLines) event(e apply.Event)        { l.log.Event(e) }
func (l *eventLines) extend(plan *ordering.Plan) { l.log.Extend(plan) }
func (l *eventLines) end(o events.Outcome)       { l.log.End(o) }
func (l *eventLines) rollBack(revision int, plan *ordering.Plan) {
	l.log.RollBack(plan, revision)
}

// outcome sums a run up, or what kept it from beginning.
func outcome(s apply.Summary, warnings []string, err error) events.Outcome {
	o := events.Outcome{Summary: s, Warnings: warnings, Err: err, ExitCode: exitCode(err)}
	o.State = endState(o.ExitCode)
	var undone *state.UndoneError
	if !errors.As(err, &undone) {
		return o
	}
	o.Err = undone.Failure
	o.Rollback = &events.Rollback{Revision: undone.Revision, Summary: undone.Summary}
	if undone.Err != nil {
		o.Rollback.Err = undone.Outcome()
	}
	o.Rollback.State = endState(exitCode(timedOut(undone.Summary, undone.Err)))
	return o
}

// endState names how a run ended, by its exit code.
func endState(code int) string {
	switch code {
	case exitDone:
		return "done"
	case exitTimedOut:
		return "timedOut"
	case exitInterrupted:
		return "interrupted"
	}
	return "failed"
}

// timedOut is the error of a run, which says so when nothing failed and something
// was not ready in time.
func timedOut(s apply.Summary, err error) error {
	if err != nil && s.TimedOutOnly() {
		return &timeoutError{err}
	}
	return err
}

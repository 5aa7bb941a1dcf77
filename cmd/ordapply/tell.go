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

// reporter reports a run: begin, any number of events, end. event is called from
// the run's loop and must not block. extend is called between events when a
// prune adds waves to the plan.
type reporter interface {
	begin()
	event(apply.Event)
	extend(*ordering.Plan)
	rollBack(revision int, plan *ordering.Plan)
	end(events.Outcome)
}

// reporters calls several reporters in turn.
type reporters []reporter

func (t reporters) begin() {
	for _, one := range t {
		one.begin()
	}
}

func (t reporters) event(e apply.Event) {
	for _, one := range t {
		one.event(e)
	}
}

func (t reporters) extend(plan *ordering.Plan) {
	for _, one := range t {
		one.extend(plan)
	}
}

func (t reporters) rollBack(revision int, plan *ordering.Plan) {
	for _, one := range t {
		one.rollBack(revision, plan)
	}
}

func (t reporters) end(o events.Outcome) {
	for _, one := range t {
		one.end(o)
	}
}

// notifyInterrupt reports at once that an interrupt was received, until stop is called,
// since pending requests may take a while. The live view reports it itself.
func (t reporters) notifyInterrupt(ctx context.Context, stderr io.Writer) (stop func() bool) {
	if l, drawn := t[len(t)-1].(*live); drawn {
		setSlowNotice(ctx, func(text string) { l.later(func() { plain.Fprintln(l.stays, text) }) })
		return func() bool { return true }
	}
	return onInterrupt(ctx, func() { plain.Fprintln(stderr, liveview.Interrupted) })
}

// onInterrupt calls do when the context is canceled by an interrupt, but not
// when --timeout has expired.
func onInterrupt(ctx context.Context, do func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			do()
		}
	})
}

// interruptOf returns a channel that is closed by an interrupt.
func interruptOf(ctx context.Context) <-chan struct{} {
	heard := make(chan struct{})
	onInterrupt(ctx, func() { close(heard) })
	return heard
}

// outputs are the two output streams of a command. Slow readers and closed
// pipes do not block the command.
type outputs struct{ out, err *outlet.Writer }

// openOutputs buffers a command's output until close. From then on a closed
// pipe does not terminate the process with SIGPIPE.
func openOutputs(cmd *cobra.Command) outputs {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	out, err := outlet.Pair(cmd.OutOrStdout(), cmd.ErrOrStderr())
	setSlowNotice(cmd.Context(), func(text string) { plain.Fprintln(err, text) })
	verboseLogOf(cmd.Context()).writeTo(err)
	return outputs{out, err}
}

// close waits until the readers have read everything, as long as they make
// progress.
func (o outputs) close(ctx context.Context) {
	unread := new(outlet.UnreadError)
	if err := o.out.Close(ctx); errors.As(err, &unread) && o.out != o.err {
		plain.Fprintf(o.err, "standard output: %v\n", err)
	} // checkedOutput has any other error
	_ = o.err.Close(ctx) // errors of standard error cannot be reported
}

// eventLines writes a run as JSON lines, for -o json.
type eventLines struct {
	log   *events.Log
	plan  *ordering.Plan
	start events.RunStart
}

func (f *applyFlags) newEventLines(w io.Writer, j session) *eventLines {
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

// outcome summarizes a run, or the error that prevented it.
func outcome(s apply.Summary, warnings []string, err error) events.Outcome {
	o := events.Outcome{Summary: s, Warnings: warnings, Err: err, ExitCode: exitCode(err)}
	o.State = runState(o.ExitCode)
	var undone *state.UndoneError
	if !errors.As(err, &undone) {
		return o
	}
	o.Err = undone.Failure
	o.Rollback = &events.Rollback{Revision: undone.Revision, Summary: undone.Summary}
	if undone.Err != nil {
		o.Rollback.Err = undone.Outcome()
	}
	o.Rollback.State = runState(exitCode(timedOut(undone.Summary, undone.Err)))
	return o
}

// runState returns the state of a run for its exit code.
func runState(code int) string {
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

// timedOut wraps the error of a run in a timeoutError if nothing failed but
// something did not become ready in time.
func timedOut(s apply.Summary, err error) error {
	if err != nil && s.TimedOutOnly() {
		return &timeoutError{err}
	}
	return err
}

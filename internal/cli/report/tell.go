package report

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/ordering"
)

// Reporters follows a run, and calls several reporters in turn.
type Reporters struct {
	run       *track.Tracker
	followers []follower // all of them
	reporters []Reporter // for the outcome
	live      *live      // one of them, which draws on a terminal; else nil
	silent    bool       // the caller reports progress and interrupts
}

// NewReporters returns reporters of a run of a plan: so far its followers, in this order.
func NewReporters(plan *ordering.Plan, all ...follower) *Reporters {
	return &Reporters{run: track.New(plan, time.Now()), followers: all}
}

// add adds a reporter, which is called after the earlier ones.
func (t *Reporters) add(one Reporter) *Reporters {
	t.followers, t.reporters = append(t.followers, one), append(t.reporters, one)
	return t
}

// Begin reports the beginning of the run.
func (t *Reporters) Begin() {
	for _, one := range t.followers {
		one.Begin(t.run)
	}
}

// Event reports an event. It never blocks.
func (t *Reporters) Event(e event.Event) {
	change := t.run.Take(e)
	for _, one := range t.followers {
		one.Event(change)
	}
}

// LastRun reports how long the last run of the same apply set took.
func (t *Reporters) LastRun(times track.RunTimes) {
	if l := t.live; l != nil {
		l.later(func() { l.view.Compare(times) })
	}
}

// Revision reports the revision that the run applies, and the account that stored it; "" if an
// earlier run did.
func (t *Reporters) Revision(number int, user string) {
	t.record(func(to Recorder) { to.Revision(number, user) })
}

// LostOrder reports that objects of the stream lost their order since the last apply.
func (t *Reporters) LostOrder(lost error) {
	t.record(func(to Recorder) { to.LostOrder(lost) })
}

// record calls do for each follower that is a Recorder.
func (t *Reporters) record(do func(Recorder)) {
	for _, one := range t.followers {
		if recorder, ok := one.(Recorder); ok {
			do(recorder)
		}
	}
}

// Extend reports that a prune adds waves to the plan.
func (t *Reporters) Extend(plan *ordering.Plan) {
	more := t.run.Extend(plan)
	for _, one := range t.followers {
		one.Extend(more)
	}
}

// RollBack reports that the run failed and that plan undoes it, by applying a revision, or
// for revision 0 by deleting the run's new objects.
func (t *Reporters) RollBack(revision int, plan *ordering.Plan) {
	t.run = track.New(plan, time.Now())
	for _, one := range t.followers {
		one.RollBack(revision, t.run)
	}
}

// End reports the outcome.
func (t *Reporters) End(o events.Outcome) {
	for _, one := range t.reporters {
		one.End(o)
	}
}

// NotifyInterrupt reports at once that an interrupt was received, until stop is called,
// since pending requests may take a while. The live view reports it itself.
func (t *Reporters) NotifyInterrupt(ctx context.Context, c *console.Console, stderr io.Writer) (stop func() bool) {
	if t.silent {
		return func() bool { return true }
	}
	if l := t.live; l != nil {
		c.ReportSlow(func(text string) { l.later(func() { plain.Fprintln(l.stays, text) }) })
		return func() bool { return true }
	}
	return onInterrupt(ctx, func() { plain.Fprintln(stderr, terminal.Interrupted) })
}

// Messages returns the writer of messages during the run: standard error, or the lines above
// the frames of a live view.
func (t *Reporters) Messages(stderr io.Writer) io.Writer {
	if t.live != nil {
		return aboveFrames{t.live}
	}
	return stderr
}

// Outputs are the two output streams of a command. Slow readers and closed
// pipes do not block the command.
type Outputs struct{ Out, Err *files.Writer }

// OpenOutputs buffers a command's output until close. From then on a closed
// pipe does not terminate the process with SIGPIPE.
func OpenOutputs(c *console.Console) Outputs {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	out, err := files.Pair(c.Out, c.Err)
	c.ReportSlow(func(text string) { plain.Fprintln(err, text) })
	c.Log.Redirect(err)
	return Outputs{out, err}
}

// Close waits until the readers have read everything, as long as they make
// progress.
func (o Outputs) Close(ctx context.Context) {
	unread := new(files.UnreadError)
	if err := o.Out.Close(ctx); errors.As(err, &unread) && o.Out != o.Err {
		plain.Fprintf(o.Err, "standard output: %v\n", err)
	} // files.Checked has any other error
	_ = o.Err.Close(ctx) // errors of standard error cannot be reported
}

// Options configure the report of a run.
type Options struct {
	Origin      events.Origin
	Output      string // of -o: text, name or json
	Schedule    apply.Schedule
	DryRun      bool // by the API server
	WaveTimeout time.Duration
	NoLive      bool // lines on a terminal too
	Quiet       bool // no progress, and no results as text
	Deletion    bool
	Rollback    bool                           // to an earlier revision
	To          func(events.RunStart) Reporter // instead of the console; nil: the console
	NoProgress  bool                           // results and the summary only: the caller reports progress
}

// Report returns the reporters for -o, in addition to files and to progress on
// standard error. Where both streams are one file, as with 2>&1, results as text are
// omitted, since the progress includes them. Reporters that may block on a slow reader at the
// end come last.
func (o Outputs) Report(ctx context.Context, c *console.Console, on *connect.Target, plan *ordering.Plan, files *Files, how Options) *Reporters {
	p := newPrinter(on, o, how)
	p.everyLine = c.Log != nil
	var lines logReporter = p
	if how.Deletion {
		lines = &deletionPrinter{p}
	}
	start := events.RunStart{Server: on.Server, Context: on.Context, DryRun: how.DryRun, Schedule: how.Schedule.String(), Origin: how.Origin}
	start.Namespace = on.NamespaceOfSet(start.ApplySet)
	start.Command = c.Command[strings.LastIndex(c.Command, " ")+1:]
	reporters := NewReporters(plan, files.followers(start)...)
	if how.To != nil {
		reporters.silent = true
		return reporters.add(how.To(start))
	}
	switch how.Output {
	case "name":
		p.results = namesOnly
	case "json":
		p.results = noResults
		reporters.add(events.NewLog(o.Out, start))
	}
	if how.NoProgress {
		reporters.silent = true
		return reporters.add(quiet{lines})
	}
	if how.Quiet {
		if how.Output == "text" {
			p.results = noResults
		}
		return reporters.add(quiet{lines})
	}
	if at := liveTerminal(c, how.Output); at != nil && !how.NoLive && c.Log == nil {
		reporters.live = newLive(ctx, c, lines, p, terminal.ViewOptions{Graph: how.Schedule == apply.Graph, WaveTimeout: how.WaveTimeout}, at)
		return reporters.add(reporters.live)
	}
	if o.Out == o.Err && how.Output == "text" {
		p.results = noResults // the progress above says the same
	}
	return reporters.add(lines)
}

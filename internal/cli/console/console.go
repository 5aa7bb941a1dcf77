// Package console is the surroundings of a command: its streams, the log of -v, the files that
// it has read, and the notices about slow steps.
//
//	c := console.New(os.Stdin, os.Stdout, os.Stderr)
//	ctx = c.Limit(ctx, 5*time.Minute)
//	text, err := c.ReadFile(ctx, "order.yaml", "--order")
package console

import (
	"context"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/loop"
)

// Console is the surroundings of one command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Log      *Log   // of -v; nil without it
	Command  string // its path, "ordapply apply"; for the trace and the events
	// Function is set in the ordapply program, which is the function of a SortOrder when a
	// kustomize build starts it. In other programs an operation must not start the program.
	Function bool

	files  *files
	shared bool // several consoles have the same files, and the manifests are among them
	slow   *slowNotices
}

// New returns the console of a command.
func New(in io.Reader, out, err io.Writer) *Console {
	return &Console{In: in, Out: out, Err: err, files: newFiles(), slow: &slowNotices{}}
}

// Share returns a console for one of several commands that read each file once, manifests
// too. It has the name, the log and the standard input of c, and other outputs. Slow steps are
// reported with slow, which is called from other goroutines; nil: on err.
func (c *Console) Share(out, err io.Writer, slow func(string)) *Console {
	return &Console{In: c.In, Out: out, Err: err, Log: c.Log.on(err), Command: c.Command, Function: c.Function, files: c.files, shared: true, slow: &slowNotices{notify: slow, fixed: slow != nil}}
}

// IsShared reports whether several commands read the same files.
func (c *Console) IsShared() bool { return c.shared }

// Limit returns a context with the deadline of --timeout, 0 for none, in which steps are
// recorded, and starts to report slow ones.
func (c *Console) Limit(ctx context.Context, limit time.Duration) context.Context {
	over := &abortable.DeadlineError{After: limit}
	if limit > 0 {
		limited, cancel := loop.WithTimeout(ctx, limit, over)
		context.AfterFunc(ctx, cancel) // when the command ends
		ctx = limited
	}
	ctx, log := activity.Record(ctx)
	over.Doing = log.Now
	c.slow.begin(func(text string) { plain.Fprintln(c.Err, text) })
	go c.slow.watch(ctx, log)
	return ctx
}

// ReportSlow replaces the function that reports slow steps, unless Share chose it; nil mutes.
func (c *Console) ReportSlow(say func(string)) { c.slow.replace(say) }

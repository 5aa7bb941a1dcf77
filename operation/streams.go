package operation

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// Streams are the standard streams of an operation. Without In it reads no standard input. Without
// Out or Err it discards what it writes there, as with io.Discard.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// run runs the operation of a command on these streams, within its time limit; 0: none.
func (s Streams) run(ctx context.Context, command string, limit time.Duration, do func(context.Context, *console.Console) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c := console.New(s.In, cmp.Or(s.Out, io.Discard), cmp.Or(s.Err, io.Discard))
	c.Command = "ordapply " + command
	return do(c.Limit(ctx, limit), c)
}

// Run applies the stream, and prints what ordapply apply prints. Its error joins those of the
// run.
func (a Apply) Run(ctx context.Context, s Streams) error {
	return s.run(ctx, "apply", a.Timeout, a.RunOn)
}

// Run prints the plan as ordapply plan does. Its error joins those of planning and those that the
// apply would have.
func (p Plan) Run(ctx context.Context, s Streams) error { return s.run(ctx, "plan", 0, p.RunOn) }

// Run prints the differences as ordapply diff does. That there are some is an error, too.
func (d Diff) Run(ctx context.Context, s Streams) error { return s.run(ctx, "diff", 0, d.RunOn) }

// Run deletes, and prints what ordapply delete prints. Its error joins those of the run.
func (op Delete) Run(ctx context.Context, s Streams) error {
	return s.run(ctx, "delete", op.Timeout, op.RunOn)
}

// Run applies the revision, and prints what ordapply rollback prints. Its error joins those of
// the run.
func (r Rollback) Run(ctx context.Context, s Streams) error {
	return s.run(ctx, "rollback", r.Timeout, r.RunOn)
}

// Run prints the status as ordapply status does. Its error says why the set is not ready.
func (s Status) Run(ctx context.Context, streams Streams) error {
	return streams.run(ctx, "status", 0, s.RunOn)
}

// Run prints the Roles as ordapply rbac does.
func (r Roles) Run(ctx context.Context, s Streams) error { return s.run(ctx, "rbac", 0, r.RunOn) }

package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/operation"
)

// prepared is a cluster before anything was written to any cluster.
type prepared struct {
	err      error
	messages []string // lines on standard error
}

// prepare plans every cluster, as its run will: it connects, reads the stream, plans it and
// checks permissions. It returns an error with everything that is wrong; then nothing is
// applied to any cluster. A cluster that cannot be reached, or does not answer within --timeout,
// is only reported: it may be up when its turn comes, and counts as failed then if it is not.
func (r *runner) prepare(ctx context.Context, clusters []fleet.Cluster, op operation.Apply, show *fleetConsole) error {
	all := each(ctx, clusters, func(ctx context.Context, c fleet.Cluster) prepared {
		var p prepared
		messages := &lineWriter{each: func(line []byte) { p.messages = append(p.messages, string(line)) }}
		p.err = r.run(ctx, io.Discard, messages, show.slow(c), runOn(c, op).Check)
		return p
	})
	if ctx.Err() != nil {
		return errors.Join(abortable.Cause(ctx), errNothing)
	}
	messages, wrong := make([][]string, len(clusters)), make([]error, len(clusters))
	for i, p := range all {
		messages[i] = p.messages
		if unanswered(p.err) {
			messages[i] = append(messages[i], fmt.Sprintf("warning: it cannot be reached, and fails if that is still so when its turn comes: %v", p.err))
			continue
		}
		wrong[i] = p.err
	}
	show.printShared(clusters, messages)
	if err := errors.Join(name(clusters, wrong)...); err != nil {
		return errors.Join(err, errNothing)
	}
	return nil
}

// unanswered reports whether planning ended because an API server did not answer: it refused
// the connection, or --timeout was over.
func unanswered(err error) bool {
	_, is := errors.AsType[*connect.UnreachableError](err)
	return is || err != nil && report.ExitCode(err) == report.ExitTimedOut
}

// errNothing ends the errors of a fleet that was not applied to.
var errNothing = errors.New("nothing was written to any cluster")

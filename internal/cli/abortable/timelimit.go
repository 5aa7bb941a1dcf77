package abortable

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/run/loop"
)

// --timeout limits everything that a command does: it is the deadline of the
// context that is passed everywhere, measured from the parsing of the command
// line. A value in the config file is measured from reading that file.

// DeadlineError is the cause of a context whose --timeout has expired.
type DeadlineError struct {
	after time.Duration
	doing func() string // the command's pending step
}

// Error names the limit and the pending step: "timed out after 2m (--timeout) while …".
func (e *DeadlineError) Error() string {
	text := fmt.Sprintf("timed out after %s (--timeout)", e.after)
	if doing := e.doing(); doing != "" {
		text += " while " + doing
	}
	return text
}

// Is makes it equal to context.DeadlineExceeded.
func (e *DeadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout and Temporary implement net.Error, as context.DeadlineExceeded does.
func (e *DeadlineError) Timeout() bool { return true }

// Temporary is part of net.Error.
func (e *DeadlineError) Temporary() bool { return true }

// Limit adds the deadline of --timeout to a command's context, and starts to record its
// steps.
func Limit(cmd *cobra.Command, limit time.Duration) {
	ctx := cmd.Context()
	over := new(DeadlineError)
	if limit > 0 {
		over.after = limit
		limited, cancel := loop.WithTimeout(ctx, limit, over)
		context.AfterFunc(ctx, cancel) // when the command ends
		ctx = limited
	}
	ctx, log := activity.Record(readFilesOnce(ctx))
	over.doing = log.Now
	cmd.SetContext(startSlowNotices(ctx, log, cmd.ErrOrStderr()))
}

package abortable

import (
	"context"
	"fmt"
	"time"
)

// DeadlineError is the cause of a context whose --timeout has expired. The limit is for
// everything that a command does: it is the deadline of the context that is passed everywhere,
// measured from the parsing of the command line, or from reading the config file if the value
// is in it.
type DeadlineError struct {
	After time.Duration
	Doing func() string // the command's pending step
}

// Error names the limit and the pending step: "timed out after 2m (--timeout) while …".
func (e *DeadlineError) Error() string {
	text := fmt.Sprintf("timed out after %s (--timeout)", e.After)
	if doing := e.Doing(); doing != "" {
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

package operation

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
)

// errNotConfirmed is the answer no.
var errNotConfirmed = errors.New("not confirmed: nothing was deleted; --yes deletes without asking")

// unstartedError is an interruption before the question was answered.
type unstartedError struct{ err error }

func (unstartedError) Error() string { return "interrupted before the answer: nothing was deleted" }

// Unwrap returns the interruption, which decides the exit code.
func (e unstartedError) Unwrap() error { return e.err }

// namesAsked bounds the names of a kind in the question.
const namesAsked = 4

// confirm asks whether to delete objects, if a person can answer: standard input and output
// are a terminal, it is not a CI job, and neither --yes nor a dry run is asked for. The
// question goes to standard output if standard error is not that terminal. It returns
// errNotConfirmed unless the answer is yes.
func (op *Delete) confirm(ctx context.Context, c *console.Console, d deletion, on io.Writer) error {
	in, ok := c.In.(*os.File)
	out := files.FileOf(c.Out)
	if op.Yes || op.DryRun != "none" || os.Getenv("CI") != "" || !ok || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	if screen := files.FileOf(c.Err); screen == nil || !term.IsTerminal(int(screen.Fd())) {
		on = c.Out
	}
	kinds, names := d.deleted()
	count := 0
	for _, of := range names {
		count += len(of)
	}
	if count == 0 {
		return nil
	}
	what := plain.Count(count, "object")
	if op.Set != "" {
		what = "apply set " + op.Set + " with " + what
	}
	plain.Fprintf(on, "this deletes %s from %s:\n", what, d.target)
	for _, kind := range kinds {
		shown := plain.Sample(names[kind], namesAsked, "and %d more", func(name string) string { return name })
		plain.Fprintf(on, "  %s %s\n", kind, strings.Join(shown, ", "))
	}
	plain.Fprintf(on, "continue? [y/N] ")
	err := c.Confirm(ctx, on)
	switch {
	case errors.Is(err, console.ErrNo):
		return errNotConfirmed
	case errors.Is(err, event.ErrInterrupted):
		return unstartedError{err}
	}
	return err
}

// deleted returns the names of the live objects that no annotation protects, by kind, and
// the kinds, in the order of the deletion.
func (d deletion) deleted() (kinds []string, names map[string][]string) {
	names = map[string][]string{}
	for _, s := range d.order.Plan().Steps {
		live := d.live[s.ID]
		if live == nil || applyset.Protection(live, applyset.Delete) != "" || d.keep != nil && d.keep(live) != "" {
			continue
		}
		kind, name, _ := strings.Cut(s.ID.String(), " ")
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], name)
	}
	return kinds, names
}

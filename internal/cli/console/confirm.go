package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/plain"
)

// ErrNo is the answer no to a question.
var ErrNo = errors.New("the answer was no")

// Confirm reads the answer to a question that was printed on a writer. It returns nil for yes,
// the cause if ctx ends before the answer, and ErrNo for every other answer.
func (c *Console) Confirm(ctx context.Context, on io.Writer) error {
	answer, err := abortable.Start(ctx, func() (string, error) { return bufio.NewReader(c.In).ReadString('\n') })()
	if ctx.Err() != nil || err != nil {
		plain.Fprintln(on) // later output begins a line of its own
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))):
		return ErrNo
	}
	return nil
}

// Command ordapply applies a stream of manifests to a cluster in gated waves.
//
//	kustomize build . | ordapply
//	ordapply apply -f rendered.yaml --order order.yaml
//
// With standard input piped and no verb it means `ordapply apply -f -`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/outlet"
	"github.com/ordapply/ordapply/state"
)

func main() {
	muteLibraries()
	ctx, interrupt := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		interrupt(interruption{})
		<-signals
		os.Exit(exitInterrupted) // at once, also where we are a container's first process, which a signal alone does not end
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interruption is why the context is over: whatever was waited for when it came, the
// command was interrupted.
type interruption struct{}

func (interruption) Error() string { return apply.ErrInterrupted.Error() }

func (interruption) Is(target error) bool {
	return target == apply.ErrInterrupted || target == context.Canceled
}

// muteLibraries keeps what client-go and net/http remark to themselves off
// standard error, such as a watch that ends or a lock that is not yet free: what
// matters of it reaches the person as errors and events.
func muteLibraries() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
}

// Exit codes, DESIGN §9.
const (
	exitDone        = 0
	exitDifferent   = 1 // of diff, whose faults all have other codes
	exitFailed      = 1
	exitDiffFailed  = 2
	exitUsage       = 2
	exitTimedOut    = 3
	exitInterrupted = 130
)

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if len(args) == 0 && isPiped(stdin) {
		args = []string{"apply", "-f", "-"}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &checkedOutput{to: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd, err := root.ExecuteContextC(ctx)
	saySlow(cmd.Context(), nil)
	err = out.failed(tellRefusal(cmd, args, orInterrupted(cmd.Context(), err)))
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifferent):
		return exitDifferent
	}
	said := outlet.New(stderr)
	printFaults(said, events.Faults(err))
	_ = said.Close(ctx)
	if code := exitCode(err); code != exitFailed || cmd.Name() != "diff" {
		return code
	}
	return exitDiffFailed
}

// exitCode is that of a run's own error, whatever became of a rollback after it.
func exitCode(err error) int {
	var usage *usageError
	var timeout *timeoutError
	var undone *state.UndoneError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, apply.ErrInterrupted) && !errors.As(err, &undone):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &timeout):
		return exitTimedOut
	}
	return exitFailed
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// timeoutError is a run in which nothing failed, and something was not ready
// in time.
type timeoutError struct{ error }

func (e *timeoutError) Unwrap() error { return e.error }

// isPiped tells whether something is connected to standard input.
func isPiped(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

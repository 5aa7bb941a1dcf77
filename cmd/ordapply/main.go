// Command ordapply applies a stream of manifests to a cluster in gated waves.
//
//	kustomize build . | ordapply
//	ordapply plan -f rendered.yaml --order order.yaml
//	ordapply apply -f rendered.yaml --order order.yaml
//
// With standard input piped and no verb it means `ordapply apply -f -`. This
// package has the flags and the output of each verb; packages ordering, apply and
// state do the work. It exits with 0 when all is done, 1 on failure, 2 when it is
// used wrongly, 3 when nothing failed and something did not become ready in time,
// and 130 when interrupted; diff exits with 1 for differences and 2 on failure.
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
	discardLibraryLogs()
	ctx, interrupt := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		interrupt(interruption{})
		<-signals
		os.Exit(exitInterrupted) // exit at once, even as process 1 of a container, which a signal alone does not terminate
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interruption is the cause of a canceled context: the command was interrupted,
// whatever it was waiting for.
type interruption struct{}

func (interruption) Error() string { return apply.ErrInterrupted.Error() }

func (interruption) Is(target error) bool {
	return target == apply.ErrInterrupted || target == context.Canceled
}

// discardLibraryLogs discards the log output of client-go and net/http. What matters
// to the user is reported as errors and events.
func discardLibraryLogs() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
}

// Exit codes.
const (
	exitDone        = 0
	exitDifferent   = 1 // of diff; its errors have other codes
	exitFailed      = 1
	exitDiffFailed  = 2
	exitUsage       = 2
	exitTimedOut    = 3   // nothing failed
	exitInterrupted = 130 // as of a shell, for SIGINT
)

// run is the whole program without the process around it.
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
	setSlowNotice(cmd.Context(), nil)
	err = out.failed(reportInvalidRun(cmd, args, orInterrupted(cmd.Context(), err)))
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifferent):
		return exitDifferent
	}
	said := outlet.New(stderr)
	printFaults(said, events.FlattenErrors(err))
	_ = said.Close(ctx)
	if code := exitCode(err); code != exitFailed || cmd.Name() != "diff" {
		return code
	}
	return exitDiffFailed
}

// exitCode returns the exit code for a run's error; the outcome of a rollback
// after it does not matter.
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

// usageError is an error in the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// timeoutError reports a run in which nothing failed but something did not
// become ready in time.
type timeoutError struct{ error }

func (e *timeoutError) Unwrap() error { return e.error }

// isPiped reports whether standard input is a pipe or file.
func isPiped(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// Command ordapply applies a stream of manifests to a cluster in gated waves.
//
//	kustomize build . | ordapply
//	ordapply plan -f rendered.yaml --order order.yaml
//	ordapply apply -f rendered.yaml --order order.yaml
//
// With standard input piped and no verb, its flags are those of `ordapply apply -f -`. This
// package and internal/cli have the verbs; packages ordering, apply and state do the work. It
// exits with 0 when all is done, 1 on failure, 2 when it is used wrongly, 3 when nothing failed
// and something did not become ready in time, and 130 when interrupted; diff exits with 1
// for differences and 2 on failure.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/kustomize"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/ordering"
)

func main() {
	discardLibraryLogs()
	ctx, interrupt := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		awaitSignals(signals, func() { interrupt(abortable.Interruption{}) })
		os.Exit(report.ExitInterrupted) // exit at once, even as process 1 of a container, which a signal alone does not terminate
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// awaitSignals calls interrupt at the first signal, and returns at the second, or when the
// command has not ended in time: a computation may not look at its context.
func awaitSignals(signals <-chan os.Signal, interrupt func()) {
	<-signals
	interrupt()
	select {
	case <-signals:
	case <-time.After(limits.Shutdown):
	}
}

// discardLibraryLogs discards the log output of client-go and net/http. Errors and events
// report all that the user needs.
func discardLibraryLogs() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
}

// run is the whole program without the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == kustomize.FunctionArgument {
		return kustomize.Function(stdin, stdout, stderr)
	}
	c := console.New(stdin, stdout, stderr)
	c.Function = true
	cmd, err := execute(ctx, c, args)
	switch {
	case err == nil:
		return report.ExitDone
	case errors.Is(err, plan.ErrDifferent):
		return report.ExitDifferent
	}
	messages := files.NewWriter(stderr)
	report.PrintErrors(messages, terminal.Shader(files.FileOf(stderr)), ordering.FlattenErrors(err))
	_ = messages.Close(ctx)
	if code := report.ExitCode(err); code != report.ExitFailed || cmd.Name() != "diff" || cmd.Parent() != cmd.Root() { // history diff reports no difference by its exit code
		return code
	}
	return report.ExitDiffFailed
}

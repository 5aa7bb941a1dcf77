package report

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/operation/option"
)

// reportedError is the error of a run that -o json, --metrics-file and --report have
// already reported.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

// Reported marks an error as reported; InvalidRun then leaves it alone.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	return &reportedError{err}
}

// reportTimeout limits the time for reading the config file and the kubeconfig when
// reporting an invalid command, since one of them may block.
const reportTimeout = time.Second

// InvalidRun reports a run that failed before it started, because of its flags
// or a file that they name, so that consumers of events, metrics or pages always
// see an end. It returns the error, joined with errors of reporting.
func InvalidRun(cmd *cobra.Command, c *console.Console, args []string, err error) error {
	var reported *reportedError
	if err == nil || cmd.Flags().Lookup("metrics-file") == nil || errors.As(err, &reported) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), reportTimeout)
	defer cancel()
	named := option.View{MetricsFile: flags.FlagValue(ctx, cmd, c, args, "metrics-file"), Report: flags.FlagValue(ctx, cmd, c, args, "report")}
	var labels map[string]string
	if named.MetricsFile != "" {
		labels = refusedLabels(ctx, cmd, c, args)
	}
	files, _ := OpenFiles(ctx, cmd.CommandPath(), named, labels) // the writable ones
	return Unstarted(c.Out, flags.FlagValue(ctx, cmd, c, args, "output"), files, err)
}

// Unstarted reports the end of a run without a plan: an error, or nil if there was nothing
// to do. It returns the error joined with write errors of files.
func Unstarted(w io.Writer, output string, files *Files, err error) error {
	ended, err := files.Ended(event.Summary{}, nil, err)
	if output == "json" {
		events.NewLog(w, events.RunStart{}).End(ended)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
)

// reportedError is the error of a run that -o json and --metrics-file have
// already reported.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

func reported(err error) error {
	if err == nil {
		return nil
	}
	return &reportedError{err}
}

// reportTimeout limits the time for reading the config file and the kubeconfig
// when reporting an invalid command, since one of them may be what it was
// waiting for.
const reportTimeout = time.Second

// reportInvalidRun reports a run that failed before it started, because of its flags
// or a file that they name, so that consumers of events or metrics always see
// an end. It returns the error, joined with errors of reporting.
func reportInvalidRun(cmd *cobra.Command, args []string, err error) error {
	var told *reportedError
	if err == nil || cmd.Flags().Lookup("metrics-file") == nil || errors.As(err, &told) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), reportTimeout)
	defer cancel()
	measured := &metricsRecorder{}
	if file := flagValue(ctx, cmd, args, "metrics-file"); file != "" {
		if m, refused := newMetricsRecorder(file, refusedLabels(ctx, cmd, args)); refused == nil {
			measured = m
		}
	}
	return reportUnstarted(cmd.OutOrStdout(), flagValue(ctx, cmd, args, "output"), measured, err)
}

// reportUnstarted reports the end of a run without a plan: an error, or nil if there
// was nothing to do. It returns the error joined with that of writing metrics.
func reportUnstarted(w io.Writer, output string, measured *metricsRecorder, err error) error {
	err = measured.ended(err)
	if output == "json" {
		events.NewLog(w).End(outcome(apply.Summary{}, nil, err))
	}
	return err
}

// flagValue returns the value of a flag even if parsing stopped before it, or if
// the environment and the config file were not read.
func flagValue(ctx context.Context, cmd *cobra.Command, args []string, name string) string {
	flag := cmd.Flags().Lookup(name)
	if flag.Changed {
		return flag.Value.String()
	}
	loose := pflag.NewFlagSet("", pflag.ContinueOnError)
	loose.ParseErrorsAllowlist.UnknownFlags = true
	loose.SetOutput(io.Discard)
	value := loose.StringP(name, flag.Shorthand, "", "")
	if _ = loose.Parse(args); *value != "" {
		return *value
	}
	if value := os.Getenv(envName(name)); value != "" {
		return value
	}
	file, _ := readConfig(ctx, cmd) // use what could be read
	return file.values[name]
}

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

// reportedError is the end of a run of which -o json and --metrics-file have told.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

func reported(err error) error {
	if err == nil {
		return nil
	}
	return &reportedError{err}
}

// tellWithin bounds reading the config file and the kubeconfig to find out how a
// refusal is to be told, which may be what the command was waiting for.
const tellWithin = time.Second

// tellRefusal tells programs of a run that was refused before it began, by its flags
// or by a file that they name: who reads events or metrics is never left without an
// end. It returns the error, with what went wrong with that.
func tellRefusal(cmd *cobra.Command, args []string, err error) error {
	var told *reportedError
	if err == nil || cmd.Flags().Lookup("metrics-file") == nil || errors.As(err, &told) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), tellWithin)
	defer cancel()
	measured := &measure{}
	if file := asked(ctx, cmd, args, "metrics-file"); file != "" {
		if m, refused := newMeasure(file, refusedLabels(ctx, cmd, args)); refused == nil {
			measured = m
		}
	}
	return notBegun(cmd.OutOrStdout(), asked(ctx, cmd, args, "output"), measured, err)
}

// notBegun tells programs how a run ended of which no plan was told: with an error,
// or with none where nothing was to be done. It returns what measured makes of that.
func notBegun(w io.Writer, output string, measured *measure, err error) error {
	err = measured.ended(err)
	if output == "json" {
		events.NewLog(w).End(outcome(apply.Summary{}, nil, err))
	}
	return err
}

// asked is the value of a flag wherever it was given, also beside flags that are
// refused, or in an environment and a config file that were not looked at any more.
func asked(ctx context.Context, cmd *cobra.Command, args []string, name string) string {
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
	file, _ := readConfig(ctx, cmd) // what can be read of it
	return file.values[name]
}

package run

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	cliflags "github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
)

// Streams are the streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Program runs a command line and returns its error, which it does not print.
type Program func(ctx context.Context, args []string, std Streams) error

// runner runs a command on clusters.
type runner struct {
	cmd     *cobra.Command
	program Program
	out     report.Outputs
	given   []string // flags of the command line for each cluster
}

func newRunner(cmd *cobra.Command, program Program, out report.Outputs) *runner {
	return &runner{cmd: cmd, program: program, out: out, given: given(cmd.Flags(), func(flag *pflag.Flag) bool {
		return flag.Name != "fleet" && flag.Name != "fleet-kubeconfigs" && flag.Name != "contexts"
	})}
}

type ofFleetKey struct{}

// isOfFleet reports whether a command is a run on one cluster of a fleet.
func isOfFleet(ctx context.Context) bool { return ctx.Value(ofFleetKey{}) != nil }

// contextOfRuns returns the context of all runs. It ends at an interrupt, and not at --timeout,
// which limits each run. Files are read once in it.
func contextOfRuns(cmd *cobra.Command) context.Context {
	return context.WithValue(abortable.ReadOnce(cmd.Root().Context()), ofFleetKey{}, true)
}

// value returns the value of a flag of the command; "" if it has no such flag.
func (r *runner) value(name string) string {
	flag := r.cmd.Flags().Lookup(name)
	if flag == nil {
		return ""
	}
	return flag.Value.String()
}

// isJSON reports whether standard output is JSON.
func (r *runner) isJSON() bool { return r.value("output") == "json" }

// given returns the flags of the command line that wanted selects, with their values. The
// others come from the environment and the config file, which each run reads.
func given(flags *pflag.FlagSet, wanted func(*pflag.Flag) bool) []string {
	var out []string
	flags.Visit(func(flag *pflag.Flag) {
		if !cliflags.IsOnCommandLine(flag) || !wanted(flag) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok && flag.Value.Type() == "stringArray" { // values as they are
			values = list.GetSlice()
		} else if ok {
			values = nil
			for _, value := range list.GetSlice() {
				values = append(values, inCSV(value))
			}
		} else if flag.Value.Type() == "stringToString" {
			values = nil
			labels, _ := flags.GetStringToString(flag.Name)
			for _, name := range sortedKeys(labels) {
				values = append(values, inCSV(name+"="+labels[name]))
			}
		}
		for _, value := range values {
			out = append(out, "--"+flag.Name+"="+value)
		}
	})
	return out
}

// inCSV returns a value as flags with several of them read it.
func inCSV(value string) string {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	_ = w.Write([]string{value}) // a Buffer returns no errors
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

// onto returns the flags that select a cluster. They come last, so that they win.
func (r *runner) onto(c fleet.Cluster) []string {
	flags := []string{"--context=" + c.Context}
	if c.Kubeconfig != "" {
		flags = append(flags, "--kubeconfig="+c.Kubeconfig)
	}
	if c.Namespace != "" {
		flags = append(flags, "--namespace="+c.Namespace)
	}
	return flags
}

// args returns the command line of the command for a cluster.
func (r *runner) args(c fleet.Cluster, more ...string) []string {
	args := append([]string{r.cmd.Name()}, r.given...)
	args = append(args, "--fleet=", "--contexts=")
	return append(append(args, r.onto(c)...), more...)
}

// run runs the command line on a cluster, with the standard input of the command, which all
// runs share.
func (r *runner) run(ctx context.Context, args []string, out, err io.Writer) error {
	return r.program(ctx, args, Streams{In: r.cmd.InOrStdin(), Out: out, Err: err})
}

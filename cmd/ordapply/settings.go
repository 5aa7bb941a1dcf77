package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// Every flag may also be set by an environment variable, ORDAPPLY_ and its name
// (ORDAPPLY_CRD_TIMEOUT for --crd-timeout), or in the config file that --config
// names. The command line goes before the environment, the environment before
// the file (KubeVela KEP-0005 asks for all three).

// settle gives the flags that the command line left alone their values.
func settle(cmd *cobra.Command) error {
	file, err := readConfig(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	var errs []error
	var settled []string
	given := commandLine(cmd)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			return
		}
		value, source := os.Getenv(envName(flag.Name)), envName(flag.Name)
		if value == "" {
			value, source = file.values[flag.Name], file.name
		}
		if value == "" {
			return
		}
		if err := cmd.Flags().Set(flag.Name, value); err != nil {
			errs = append(errs, usagef("%s: %s: %w", source, flag.Name, err))
		}
		_ = cmd.Flags().SetAnnotation(flag.Name, settledBy, []string{source})
		settled = append(settled, fmt.Sprintf("--%s is set by %s", flag.Name, source))
	})
	remarkOnVariables(cmd)
	errs = append(errs, negativeTimes(cmd)...)
	errs = append(errs, contradictions(cmd, given)...)
	if verbosityOf(cmd) >= logDecisions {
		for _, text := range settled {
			plain.Fprintln(cmd.ErrOrStderr(), text)
		}
	}
	return errors.Join(errs...)
}

// negativeTimes refuses times that are none, wherever they were set.
func negativeTimes(cmd *cobra.Command) []error {
	var errs []error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if d, err := cmd.Flags().GetDuration(flag.Name); err == nil && d < 0 {
			errs = append(errs, usagef("--%s=%s: a time cannot be negative", flag.Name, flag.Value))
		}
	})
	return errs
}

// orNone is a time as package apply takes it: there 0 is the default, as no flag
// means it, and what is negative is none.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// remarkOnVariables says of environment variables that look like a flag's and
// are no flag's. Others that begin so may be somebody else's.
func remarkOnVariables(cmd *cobra.Command) {
	known := flagsOf(cmd.Root())
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, envName(""))
		word := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		if !ours || value == "" || known[word] != nil || len(word) < 6 || isServiceLink(rest) {
			continue
		}
		if near := ordering.DidYouMean(word, slices.Sorted(maps.Keys(known))); near != "" {
			plain.Fprintf(cmd.ErrOrStderr(), "note: the environment variable %s sets nothing: no flag is called --%s%s\n", name, word, near)
		}
	}
}

// isServiceLink recognises what a kubelet sets in Pods for a Service of our name.
func isServiceLink(rest string) bool {
	return strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "PORT_")
}

func envName(flag string) string {
	return "ORDAPPLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configFile holds the values of a config file by flag name.
type configFile struct {
	name   string
	values map[string]string
}

// readConfig reads the file that --config or ORDAPPLY_CONFIG names: one line a
// flag, as `crd-timeout: 2m`. Flags of other verbs may be in it; names that no
// verb knows are refused.
func readConfig(ctx context.Context, cmd *cobra.Command) (configFile, error) {
	source := "--config"
	name, err := cmd.Flags().GetString("config")
	if err != nil || name == "" {
		source = envName("config")
		name = os.Getenv(source)
	}
	if name == "" {
		return configFile{}, nil
	}
	text, err := readFile(ctx, name, source)
	if err != nil {
		return configFile{}, usagef("read the config file: %w", err)
	}
	var raw map[string]yaml.Node
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return configFile{}, usagef("%s: %w", name, err)
	}
	file := configFile{name: name, values: map[string]string{}}
	known := flagsOf(cmd.Root())
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		flag := known[key]
		if flag == nil {
			errs = append(errs, usagef("%s: no flag is called %q%s", name, key, longName(key, known)))
			continue
		}
		value, err := flagText(flag, raw[key])
		if err != nil {
			errs = append(errs, usagef("%s: %s: %w", name, key, err))
		}
		file.values[key] = value
	}
	return file, errors.Join(errs...)
}

// longName is the end of the message about a letter that stands for a flag.
func longName(letter string, known map[string]*pflag.Flag) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name].Shorthand == letter {
			return ": write " + name
		}
	}
	return ""
}

// flagText is a value of a config file as its flag takes it, as it is written
// there; lists are joined by commas.
func flagText(flag *pflag.Flag, value yaml.Node) (string, error) {
	switch {
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		return "", errors.New("it has no value: write one, or leave the line out")
	case value.Kind == yaml.ScalarNode && flag.Value.Type() == "bool":
		var yes bool // YAML has more words for it than flags have
		if err := value.Decode(&yes); err == nil {
			return strconv.FormatBool(yes), nil
		}
		return value.Value, nil
	case value.Kind == yaml.ScalarNode:
		return value.Value, nil
	}
	var list []string
	if err := value.Decode(&list); err != nil {
		return "", errors.New("write one value, or a list of them")
	}
	return strings.Join(list, ","), nil
}

// flagsOf are all flags of all verbs, by name.
func flagsOf(cmd *cobra.Command) map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	add := func(flag *pflag.Flag) { flags[flag.Name] = flag }
	for _, sub := range cmd.Commands() {
		maps.Copy(flags, flagsOf(sub))
	}
	cmd.PersistentFlags().VisitAll(add)
	cmd.Flags().VisitAll(add)
	return flags
}

package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/strict"
	"github.com/ordapply/ordapply/operation/option"
)

// Every flag can also be set by an environment variable, ORDAPPLY_ and its name
// (ORDAPPLY_CRD_TIMEOUT for --crd-timeout), or in the file of --config. The
// command line takes precedence over the environment, and the environment over
// the file (KubeVela KEP-0005 asks for all three).

// markFlagSource marks flags that were set by the environment or the config file.
const markFlagSource = "sources-by"

// IsOnCommandLine reports whether a flag was set on the command line.
func IsOnCommandLine(flag *pflag.Flag) bool {
	return flag.Changed && flag.Annotations[markFlagSource] == nil
}

// ApplyDefaults sets the flags that the command line does not set.
func ApplyDefaults(cmd *cobra.Command, c *console.Console) error {
	file, err := readConfig(cmd.Context(), cmd, c)
	if err != nil {
		return err
	}
	var errs []error
	var sources []string
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
			errs = append(errs, usage.Errorf("%s: %w", source, invalidValue(err)))
		}
		_ = cmd.Flags().SetAnnotation(flag.Name, markFlagSource, []string{source})
		sources = append(sources, fmt.Sprintf("--%s is set by %s", flag.Name, source))
	})
	noteSimilarVariables(cmd)
	markGiven(cmd)
	errs = append(errs, negativeTimes(cmd)...)
	errs = append(errs, contradictions(cmd, given)...)
	if console.Verbosity(cmd.Flags()) >= console.Decisions {
		for _, text := range sources {
			plain.Fprintln(cmd.ErrOrStderr(), text)
		}
	}
	return errors.Join(errs...)
}

// markGiven marks the options that were given on the command line, which annotations of a stream
// do not change.
func markGiven(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if s, is := flag.Value.(*option.Switch); is {
			s.Given = IsOnCommandLine(flag)
		}
	})
}

// negativeTimes returns errors for negative durations from any source.
func negativeTimes(cmd *cobra.Command) []error {
	var errs []error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if d, err := cmd.Flags().GetDuration(flag.Name); err == nil && d < 0 {
			errs = append(errs, usage.Errorf("--%s=%s: a duration cannot be negative", flag.Name, flag.Value))
		}
	})
	return errs
}

// noteSimilarVariables prints notes about environment variables that resemble a flag's.
// Others with the prefix may belong to other programs.
func noteSimilarVariables(cmd *cobra.Command) {
	known := flagsOfVerb(cmd.Root())
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, envName(""))
		word := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		if !ours || value == "" || known[word] != nil || len(word) < 6 || isServiceLink(rest) {
			continue
		}
		if near := similarSetting(word, known); near != "" {
			plain.Fprintf(cmd.ErrOrStderr(), "note: unknown environment variable %s: no flag is called --%s%s\n", name, word, near)
		}
	}
}

// isServiceLink reports whether the kubelet sets such a variable in Pods, for a
// Service named like us.
func isServiceLink(rest string) bool {
	return strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "PORT_")
}

func envName(flag string) string {
	return "ORDAPPLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configFile holds the values of a config file, by flag name.
type configFile struct {
	name   string
	values map[string]string
}

// readConfig reads the file of --config or ORDAPPLY_CONFIG, with one line for
// each flag, such as `crd-timeout: 2m`. It may contain flags of other commands;
// unknown names are errors.
func readConfig(ctx context.Context, cmd *cobra.Command, c *console.Console) (configFile, error) {
	source := "--config"
	name, err := cmd.Flags().GetString("config")
	if err != nil || name == "" {
		source = envName("config")
		name = os.Getenv(source)
	}
	if name == "" {
		return configFile{}, nil
	}
	text, err := c.ReadFile(ctx, name, source)
	if err != nil {
		return configFile{}, usage.Errorf("read the config file: %w", err)
	}
	var raw map[string]yaml.Node // the values as they are written, such as 007
	if err := yaml.Unmarshal(text, &raw); err != nil || raw != nil {
		if _, err := strict.Read(text, "a config file", "a line for each flag, such as wave-timeout: 10m"); err != nil {
			return configFile{}, usage.Errorf("%s: %w", name, err)
		}
	}
	file := configFile{name: name, values: map[string]string{}}
	known := flagsOfVerb(cmd.Root())
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		flag := known[key]
		if flag == nil {
			errs = append(errs, usage.Errorf("%s: unknown flag %q%s", name, key, cmp.Or(longName(key, known), similarSetting(kebab(key), known))))
			continue
		}
		value, err := flagText(flag, raw[key])
		if err != nil {
			errs = append(errs, usage.Errorf("%s: %s: %w", name, key, err))
		}
		file.values[key] = value
	}
	return file, errors.Join(errs...)
}

// longName completes an error message about a flag's shorthand.
func longName(letter string, known map[string]*pflag.Flag) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name].Shorthand == letter {
			return ": write " + name
		}
	}
	return ""
}

// similarSetting ends a message about a setting that no flag has, with the flag that it
// is most like: the one with the most words of it, such as crd-timeout for
// crd-establishment-timeout, else the nearest name.
func similarSetting(written string, known map[string]*pflag.Flag) string {
	names, words := slices.Sorted(maps.Keys(known)), strings.Split(written, "-")
	flag, ok := nearest.Best(names, func(name string) (int, bool) {
		own := strings.Split(name, "-")
		isExtra := func(word string) bool { return !slices.Contains(words, word) }
		return len(words) - len(own), len(own) > 1 && !slices.ContainsFunc(own, isExtra)
	})
	if ok {
		return "; did you mean " + flag + "?"
	}
	return nearest.DidYouMean(written, names)
}

// kebab returns a key in the notation of flags: crd-timeout for crdTimeout.
func kebab(key string) string {
	var out strings.Builder
	for _, letter := range key {
		if unicode.IsUpper(letter) {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}

// flagText returns a value of a config file in the syntax of its flag; lists
// are joined by commas.
func flagText(flag *pflag.Flag, value yaml.Node) (string, error) {
	switch {
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		return "", errors.New("it has no value: write one, or leave the line out")
	case value.Kind == yaml.ScalarNode && flag.NoOptDefVal == "true":
		var yes bool // YAML has more boolean literals than flags
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

// flagsOfVerb returns all flags of a command and of commands below it, by name.
func flagsOfVerb(cmd *cobra.Command) map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	add := func(flag *pflag.Flag) { flags[flag.Name] = flag }
	for _, sub := range cmd.Commands() {
		maps.Copy(flags, flagsOfVerb(sub))
	}
	cmd.PersistentFlags().VisitAll(add)
	cmd.Flags().VisitAll(add)
	return flags
}

// TimeLimit returns a command's --timeout; 0 means none. Before the config file is read, it
// is from the command line or the environment.
func TimeLimit(cmd *cobra.Command) time.Duration {
	flag := cmd.Flags().Lookup("timeout")
	if flag == nil {
		return 0
	}
	text := flag.Value.String()
	if set := os.Getenv(envName(flag.Name)); set != "" && !flag.Changed {
		text = set
	}
	limit, _ := time.ParseDuration(text) // ApplyDefaults rejects invalid values
	return limit
}

// FlagValue returns the value of a flag even if parsing stopped before it, or if
// the environment and the config file were not read.
func FlagValue(ctx context.Context, cmd *cobra.Command, c *console.Console, args []string, name string) string {
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
	file, _ := readConfig(ctx, cmd, c) // use the readable part
	return file.values[name]
}

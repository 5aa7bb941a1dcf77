package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Every flag may also be set by an environment variable, ORDAPPLY_ and its name
// (ORDAPPLY_CRD_TIMEOUT for --crd-timeout), or in the config file that --config
// names. The command line goes before the environment, the environment before
// the file (KubeVela KEP-0005 asks for all three).

// settle gives the flags that the command line left alone their values.
func settle(cmd *cobra.Command) error {
	file, err := readConfig(cmd)
	if err != nil {
		return err
	}
	var errs []error
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
	})
	return errors.Join(errs...)
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
func readConfig(cmd *cobra.Command) (configFile, error) {
	name, err := cmd.Flags().GetString("config")
	if err != nil || name == "" {
		name = os.Getenv(envName("config"))
	}
	if name == "" {
		return configFile{}, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return configFile{}, fmt.Errorf("read the config file: %w", err)
	}
	var raw map[string]any
	if err := yaml.UnmarshalStrict(text, &raw); err != nil {
		return configFile{}, fmt.Errorf("%s: %w", name, err)
	}
	file := configFile{name: name, values: map[string]string{}}
	known := flagNames(cmd.Root())
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if !known[key] {
			errs = append(errs, usagef("%s: no flag is called %q", name, key))
		}
		file.values[key] = flagText(raw[key])
	}
	return file, errors.Join(errs...)
}

// flagText is a value as a flag takes it; lists are joined by commas.
func flagText(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	var parts []string
	for _, v := range list {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ",")
}

// flagNames are the names of all flags of all verbs.
func flagNames(cmd *cobra.Command) map[string]bool {
	names := map[string]bool{}
	add := func(flag *pflag.Flag) { names[flag.Name] = true }
	cmd.PersistentFlags().VisitAll(add)
	cmd.Flags().VisitAll(add)
	for _, sub := range cmd.Commands() {
		maps.Copy(names, flagNames(sub))
	}
	return names
}

package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/ordering"
)

// flagMisuse adds a suggestion to the error for an unknown flag. If the verb
// before it is unknown, that is the error.
func flagMisuse(cmd *cobra.Command, err error) error {
	if verb := cmd.Flags().Arg(0); verb != "" && !cmd.HasParent() {
		return noVerb(cmd, verb)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return &usageError{err}
	}
	near := ""
	switch name := unknown.GetSpecifiedName(); {
	case slices.Contains([]string{"debug", "loglevel", "log-level", "trace", "verbose"}, name):
		near = "; -v 2 logs decisions and retries, -v 3 also requests"
	case len(name) > 1: // one letter is close to any
		near = ordering.DidYouMean(name, slices.Sorted(maps.Keys(flagsOf(cmd))))
	}
	return usagef("%w%s (%s --help lists all)", err, near, cmd.CommandPath())
}

// noVerb returns the error for an unknown verb.
func noVerb(root *cobra.Command, verb string) error {
	var verbs []string
	for _, sub := range root.Commands() {
		verbs = append(verbs, sub.Name())
	}
	return usagef("unknown command %q%s (%s --help lists all)", verb, ordering.DidYouMean(verb, verbs), root.CommandPath())
}

// knownVerb rejects arguments of the root command, which are unknown verbs.
func knownVerb(root *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noVerb(root, args[0])
	}
	return nil
}

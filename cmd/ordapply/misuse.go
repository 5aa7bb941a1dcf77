package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/ordering"
)

// flagMisuse says of a flag that cannot be read which may have been meant. Flags
// of a verb that there is not are those of the program itself: then it is the verb
// that is wrong.
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
		near = "; -v 2 logs decisions and retries, -v 3 requests too"
	case len(name) > 1: // one letter is near to any
		near = ordering.DidYouMean(name, slices.Sorted(maps.Keys(flagsOf(cmd))))
	}
	return usagef("%w%s (%s --help lists all)", err, near, cmd.CommandPath())
}

// noVerb is the error for a verb that there is not.
func noVerb(root *cobra.Command, verb string) error {
	var verbs []string
	for _, sub := range root.Commands() {
		verbs = append(verbs, sub.Name())
	}
	return usagef("there is no verb %q%s (%s --help lists all)", verb, ordering.DidYouMean(verb, verbs), root.CommandPath())
}

// knownVerb refuses arguments of the program itself: they are meant as verbs.
func knownVerb(root *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noVerb(root, args[0])
	}
	return nil
}

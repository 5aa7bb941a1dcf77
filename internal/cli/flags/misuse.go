package flags

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/nearest"
)

// FlagError adds a suggestion to the error for an unknown flag. If the verb
// before it is unknown, that is the error.
func FlagError(cmd *cobra.Command, err error) error {
	if verb := cmd.Flags().Arg(0); verb != "" && !cmd.HasParent() {
		return noVerb(cmd, verb)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage.Wrap(invalidValue(err))
	}
	near := ""
	word, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=") // Terraform's have one hyphen
	switch name := unknown.GetSpecifiedName(); {
	case name == "applyset" && strings.HasSuffix(strings.TrimRight(cmd.Use, "]"), "NAME"):
		near = "; the apply set is an argument: " + cmd.CommandPath() + " NAME"
	case (name == "A" || name == "all-namespaces") && hasList(cmd.Root()):
		near = "; " + cmd.Root().CommandPath() + " list -A lists the apply sets of all namespaces"
	case otherTool(cmd, word) != "":
		near = "; " + otherTool(cmd, word)
	case !cmd.HasParent() && isFlagOfApply(cmd, name):
		near = "; flags follow a command: " + cmd.CommandPath() + " apply -f FILE"
	case len(name) > 1: // one letter is close to any
		near = similarFlag(cmd, name)
	}
	return usage.Errorf("%w%s (%s --help lists all)", err, near, cmd.CommandPath())
}

// invalidValue says in the error for a value of a flag what to write, where pflag's error has the
// words of Go's parsers.
func invalidValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	write := ""
	switch flag, syntax := invalid.GetFlag(), errors.Is(err, strconv.ErrSyntax); {
	case flag.Value.Type() == "duration":
		write = "a duration, such as 90s or 5m"
	case flag.Value.Type() == "bool" && syntax:
		write = "true or false"
	case syntax:
		write = "a whole number"
	case errors.Is(err, strconv.ErrRange):
		write = "a smaller number"
	default:
		return err
	}
	return fmt.Errorf("--%s=%s: write %s", invalid.GetFlag().Name, cmp.Or(invalid.GetValue(), `""`), write)
}

// hasList reports whether a program has the command list.
func hasList(root *cobra.Command) bool {
	list, _, err := root.Find([]string{"list"})
	return err == nil && list != root
}

// otherTool names the equivalent of a flag of kubectl, Helm, Terraform or other tools at a verb;
// "" for any other flag.
func otherTool(cmd *cobra.Command, flag string) string {
	verb := cmd.Name()
	switch flag {
	case "auto-approve":
		if cmd.Flags().Lookup("yes") != nil {
			return "--yes does that"
		}
		return "it does not ask for confirmation: leave it out"
	case "cascade":
		return "what an object owns is always deleted with it; to keep it, use kubectl delete --cascade=orphan"
	case "destroy":
		if verb == "plan" {
			return "ordapply delete --dry-run=client does that"
		}
		return "ordapply delete does that"
	case "grace-period":
		return podsEnd
	case "debug", "loglevel", "log-level", "trace", "verbose":
		return "-v 2 logs decisions and retries, -v 3 also requests"
	case "atomic":
		return "--rollback-on-failure does that"
	case "history-max":
		return "--history-limit does that"
	case "no-hooks":
		return "--hooks=skip does that"
	case "cleanup-on-fail":
		return "--rollback-on-failure does that"
	case "description":
		return "--message does that"
	case "skip-crds":
		return "leave them out when the chart is rendered: helm template NAME CHART --skip-crds | ordapply"
	case "force":
		if verb == "delete" {
			return podsEnd
		}
		return "--force-conflicts takes over fields of other field managers, and annotation ordapply.dev/on-immutable: recreate replaces an object"
	case "release-name", "install", "set", "set-string", "set-file", "values":
		return "render the chart first: helm template NAME CHART | ordapply"
	case "validate":
		return "every object is validated by the API server; --dry-run=server does only that"
	}
	return ""
}

const podsEnd = "Pods end within their own terminationGracePeriodSeconds: leave it out"

// similarFlag suggests a flag for an unknown one: of the command, or of apply, which other
// commands may lack.
func similarFlag(cmd *cobra.Command, name string) string {
	similar := func(cmd *cobra.Command) (string, bool) {
		return nearest.Best(slices.Sorted(maps.Keys(flagsOfVerb(cmd))), func(flag string) (int, bool) { return nearest.Distance(name, flag) })
	}
	if flag, ok := similar(cmd); ok {
		return "; did you mean --" + flag + "?"
	}
	if apply, _, err := cmd.Root().Find([]string{"apply"}); err == nil && apply != cmd {
		if flag, ok := similar(apply); ok {
			return "; --" + flag + " is a flag of " + apply.CommandPath()
		}
	}
	return ""
}

// isFlagOfApply reports whether the command apply has a flag, or a flag of one letter.
func isFlagOfApply(root *cobra.Command, name string) bool {
	apply, _, err := root.Find([]string{"apply"})
	return err == nil && (apply.Flags().Lookup(name) != nil || len(name) == 1 && apply.Flags().ShorthandLookup(name) != nil)
}

// noVerb returns the error for a verb that a command lacks; other tools' verbs are
// those of the root.
func noVerb(root *cobra.Command, verb string) error {
	var verbs []string
	for _, sub := range root.Commands() {
		verbs = append(verbs, sub.Name())
	}
	near := nearest.DidYouMean(verb, verbs)
	switch does := otherVerb(verb); {
	case root.HasParent():
	case verb == "events" || verb == "logs":
		near = "; kubectl " + verb + " does that, and " + root.CommandPath() + " status NAME --tree shows what is wrong with Pods"
	case verb == "wait":
		near = "; " + root.CommandPath() + " apply waits until all is ready, and status NAME exits with 3 until it is"
	case does != "":
		near = "; " + root.CommandPath() + " " + does + " does that"
	}
	return usage.Errorf("unknown command %q%s (%s --help lists all)", verb, near, root.CommandPath())
}

// otherVerb names the command that does what a verb of kubectl, Helm, Terraform or another
// tool does; "" for any other verb.
func otherVerb(verb string) string {
	switch verb {
	case "install", "upgrade":
		return "apply -f FILE --applyset NAME --prune (helm template NAME CHART | ordapply --applyset NAME --prune)"
	case "create", "deploy", "import", "replace", "sync", "up":
		return "apply -f FILE --applyset NAME"
	case "annotate", "edit", "label", "patch", "scale", "set":
		return "apply -f FILE, after a change of the manifest,"
	case "destroy", "down", "remove", "uninstall":
		return "delete --applyset NAME"
	case "get":
		return "status NAME, or for manifests history show NAME REVISION,"
	case "app":
		return "list, or for one set status NAME,"
	case "describe", "inspect", "state":
		return "status NAME"
	case "tree":
		return "status NAME --tree"
	case "watch":
		return "status NAME --watch"
	case "rollout", "undo":
		return "rollback NAME"
	case "lint", "validate":
		return "vet -f FILE"
	case "preview", "template":
		return "plan -f FILE"
	case "show":
		return "history show NAME REVISION"
	}
	return ""
}

// KnownVerb rejects arguments of the root command, which are unknown verbs.
func KnownVerb(root *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noVerb(root, args[0])
	}
	return nil
}

// CheckArguments turns argument errors of a command into usage errors.
func CheckArguments(cmd *cobra.Command) {
	if args := cmd.Args; args != nil {
		cmd.Args = func(c *cobra.Command, given []string) error {
			err := args(c, given)
			var usageErr *usage.Error
			switch {
			case err == nil, errors.As(err, &usageErr):
				return err
			case swallowedFlag(c) != nil:
				return swallowedFlag(c)
			case len(given) == 1 && c.Flags().Lookup("filename") != nil && !c.HasSubCommands():
				set := ""
				if c.Flags().Lookup("applyset") != nil {
					set = ", and an apply set with --applyset"
				}
				return usage.Errorf("%s takes no argument %q: name files and folders with -f%s", c.CommandPath(), given[0], set)
			case len(given) > 0 && args(c, given[:1]) != nil && args(c, nil) == nil: // it takes none
				if c.HasSubCommands() {
					return noVerb(c, given[0])
				}
				return usage.Errorf("%s takes no argument %q (%s --help explains it)", c.CommandPath(), given[0], c.CommandPath())
			case rightArguments(c, given) != "":
				return usage.Errorf("%s takes one argument: write %s", c.CommandPath(), rightArguments(c, given))
			}
			return usage.Errorf("%s: %s (%s --help explains it)", wrongNumber(c, args, given), c.UseLine(), c.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		CheckArguments(sub)
	}
}

// wrongNumber says whether an argument is missing, or which one is too many.
func wrongNumber(cmd *cobra.Command, allowed cobra.PositionalArgs, given []string) string {
	for n := len(given) - 1; n >= 0; n-- {
		if allowed(cmd, given[:n]) == nil {
			return fmt.Sprintf("argument %q is one too many", given[n])
		}
	}
	if len(given) == 0 {
		return "an argument is missing"
	}
	return "another argument is missing"
}

// swallowedFlag returns an error for a flag whose value was left out, so that the next flag became
// it, as in --dry-run -f app.yaml; nil if there is none.
func swallowedFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if name, isFlag := strings.CutPrefix(value, "-"); f.Value.Type() == "string" && isFlag && name != "" {
			err = usage.Errorf("--%s lacks its value: %q was read as that (%s --help explains it)", f.Name, value, cmd.CommandPath())
		}
	})
	return err
}

// rightArguments returns the command line that two arguments of another tool's syntax mean:
// KIND NAME of kubectl, or NAME REVISION of Helm; "" for others.
func rightArguments(cmd *cobra.Command, given []string) string {
	if len(given) != 2 {
		return ""
	}
	_, notNumber := strconv.Atoi(given[1])
	switch {
	case strings.Contains(cmd.Use, "KIND/NAME"):
		return fmt.Sprintf("%s %s/%s", cmd.CommandPath(), given[0], given[1])
	case notNumber == nil && cmd.Flags().Lookup("to-revision") != nil:
		return fmt.Sprintf("%s %s --to-revision %s", cmd.CommandPath(), given[0], given[1])
	case notNumber == nil && cmd.Flags().Lookup("revision") != nil:
		return fmt.Sprintf("%s %s --revision %s", cmd.CommandPath(), given[0], given[1])
	}
	return ""
}

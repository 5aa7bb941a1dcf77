package flags

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// usageOf returns a command's help after its description.
func usageOf(cmd *cobra.Command, columns int) string {
	var out strings.Builder
	out.WriteString("Usage:\n")
	if cmd.Runnable() && cmd.HasParent() {
		out.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		out.WriteString("  " + cmd.CommandPath() + " [command]\n")
	}
	if cmd.HasExample() {
		out.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	writeVerbs(&out, cmd, columns)
	writeFlags(&out, cmd, columns)
	if cmd.HasAvailableSubCommands() {
		out.WriteString("\n\"" + cmd.CommandPath() + " [command] --help\" explains a command.\n")
	}
	return out.String()
}

// writeVerbs lists a command's subcommands, by task at the root.
func writeVerbs(out *strings.Builder, cmd *cobra.Command, columns int) {
	groups := cmd.Groups()
	if len(groups) == 0 && cmd.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		out.WriteString("\n" + group.Title + "\n")
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				out.WriteString(wrapped(columns, plain.Sprintf("  %-12s ", sub.Name()), strings.Fields(sub.Short)...))
			}
		}
	}
}

// widest is the width of a list of flags, also where the terminal is wider.
const widest = 100

// wrapped returns words in lines of a width, 0 for any, that begin below the end of lead.
func wrapped(columns int, lead string, words ...string) string {
	if columns == 0 {
		return lead + strings.Join(words, " ") + "\n"
	}
	return strings.Join(terminal.Wrap(words, columns, lead, strings.Repeat(" ", len(lead))), "\n") + "\n"
}

// writeFlags lists a command's own flags by topic.
func writeFlags(out *strings.Builder, cmd *cobra.Command, columns int) {
	own, further, kubectl := flagsOf(cmd)
	for _, topic := range topics() {
		if flags := own[topic.title]; flags != nil {
			out.WriteString("\n" + topic.title + "\n" + flags.FlagUsagesWrapped(columns))
		}
	}
	var more []string
	further.VisitAll(func(flag *pflag.Flag) { more = append(more, "--"+flag.Name) })
	options := cmd.Root().CommandPath() + " options"
	switch name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()); {
	case len(more) > 0:
		out.WriteString("\nFurther flags, explained by \"" + options + name + "\":\n" + wrapped(min(cmp.Or(columns, widest), widest), "  ", more...))
	case cmd == cmd.Root():
		return
	}
	if kubectl {
		out.WriteString("\nFlags of kubectl, such as --context, and of every command: \"" + options + "\"\n")
	} else {
		out.WriteString("\nFlags of every command: \"" + options + "\"\n")
	}
}

// flagsOf returns a command's own flags by topic, its further flags, and whether it has
// kubectl's.
func flagsOf(cmd *cobra.Command) (own map[string]*pflag.FlagSet, further *pflag.FlagSet, kubectl bool) {
	own, further = map[string]*pflag.FlagSet{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	shared := kubectlFlags()
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		known := shared.Lookup(flag.Name)
		topic := topicOf(flag.Name)
		switch {
		case flag.Hidden || flag.Name == "help":
		case known != nil && known.Usage == flag.Usage:
			kubectl = true
		case topic.isFurther(flag.Name) && topicsOf(cmd) > 1:
			further.AddFlag(flag)
		default:
			if own[topic.title] == nil {
				own[topic.title] = pflag.NewFlagSet("", pflag.ContinueOnError)
			}
			own[topic.title].AddFlag(flag)
		}
	})
	return own, further, kubectl
}

// topicsOf returns the number of topics of a command's flags.
func topicsOf(cmd *cobra.Command) int {
	seen := map[string]bool{}
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { seen[topicOf(flag.Name).title] = true })
	return len(seen)
}

// kubectlFlags are the flags of every command of kubectl.
func kubectlFlags() *pflag.FlagSet {
	set := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(set)
	return set
}

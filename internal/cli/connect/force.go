package connect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/applyset"
)

// RegisterForce defines --force-conflicts: as in kubectl without a value, and with the
// names of field managers only theirs.
func RegisterForce(flags *pflag.FlagSet, force *applyset.Force, help string) {
	flags.Var((*forceValue)(force), "force-conflicts", help)
	flags.Lookup("force-conflicts").NoOptDefVal = "true"
}

// forceValue is the value of --force-conflicts: true, false, or field managers.
type forceValue applyset.Force

// Set parses a value; spaces around names are removed.
func (f *forceValue) Set(text string) error {
	*f = forceValue{}
	if all, err := strconv.ParseBool(text); err == nil {
		f.All = all
		return nil
	}
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(f.Managers, name) {
			f.Managers = append(f.Managers, name)
		}
	}
	slices.Sort(f.Managers)
	return nil
}

func (f *forceValue) String() string {
	if len(f.Managers) > 0 {
		return strings.Join(f.Managers, ",")
	}
	return strconv.FormatBool(f.All)
}

// Type names the value in the help of a command.
func (*forceValue) Type() string { return "managers" }

package plan

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"
)

// serverSide is the value of kubectl's --server-side, which has no effect:
// ordapply always uses server-side apply.
type serverSide struct{}

func (serverSide) String() string { return "true" }
func (serverSide) Type() string   { return "bool" }

func (serverSide) Set(text string) error {
	if yes, err := strconv.ParseBool(text); err != nil || !yes {
		return errors.New("ordapply always applies server-side: leave it out")
	}
	return nil
}

// RegisterServerSide registers the flag as hidden.
func RegisterServerSide(flags *pflag.FlagSet) {
	flag := flags.VarPF(serverSide{}, "server-side", "", "as in kubectl; ordapply always does")
	flag.NoOptDefVal, flag.Hidden = "true", true
}

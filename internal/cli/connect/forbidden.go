package connect

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/plain"
)

// ExplainForbidden adds to the error of a missing permission the command that prints the
// Roles for an apply set; any other error is returned as it is. flags are rbac's flags
// for the command, such as --status.
func ExplainForbidden(err error, t *Target, set string, flags ...string) error {
	user, denied := fault.DeniedUser(err)
	if !denied || set == "" {
		return err
	}
	args := []string{"-n", t.Scope.Namespace, "--applyset", plain.ShellQuote(set)}
	if !slices.Equal(flags, []string{"--status"}) { // the kinds that an account may read are those of the set
		args = append([]string{"-f", "MANIFESTS"}, args...)
	}
	return errors.Join(err, errors.New(RolesHint(user, append(args, flags...)...)))
}

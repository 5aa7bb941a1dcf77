package connect

import (
	"errors"

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
	args := []string{"-f", "MANIFESTS", "-n", t.Scope.Namespace, "--applyset", plain.ShellQuote(set)}
	return errors.Join(err, errors.New(RolesHint(user, append(args, flags...)...)))
}

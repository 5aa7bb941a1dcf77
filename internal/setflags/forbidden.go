package setflags

import (
	"errors"

	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/plain"
)

// ExplainForbidden adds to the error of a missing permission the command that prints the
// Roles for an apply set; any other error is returned as it is. flags are rbac's flags
// for what the command does, such as --status.
func ExplainForbidden(err error, t *connect.Target, set string, flags ...string) error {
	user, denied := kubeerr.DeniedUser(err)
	if !denied || set == "" {
		return err
	}
	args := []string{"-f", "MANIFESTS", "-n", t.Scope.Namespace, "--applyset", plain.ShellQuote(set)}
	return errors.Join(err, errors.New(connect.RolesHint(user, append(args, flags...)...)))
}

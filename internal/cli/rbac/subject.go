package rbac

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
)

// subjectFlags select the subject to bind Roles to.
type subjectFlags struct {
	serviceAccount string
	user           string
	group          string
}

func (f *subjectFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.serviceAccount, "service-account", "", "ServiceAccount to bind the Roles to, as NAMESPACE/NAME")
	flags.StringVar(&f.user, "user", "", "user to bind the Roles to")
	flags.StringVar(&f.group, "group", "", "group to bind the Roles to")
}

// subject returns the selected subject as YAML, or "".
func (f *subjectFlags) subject() (string, error) {
	var subjects []string
	if f.serviceAccount != "" {
		namespace, name, ok := strings.Cut(f.serviceAccount, "/")
		if !ok || namespace == "" || name == "" {
			return "", usage.Errorf("--service-account=%s: write NAMESPACE/NAME", f.serviceAccount)
		}
		subjects = append(subjects, "{kind: ServiceAccount, namespace: "+plain.YAML(namespace)+", name: "+plain.YAML(name)+"}")
	}
	if f.user != "" {
		subjects = append(subjects, "{kind: User, apiGroup: rbac.authorization.k8s.io, name: "+plain.YAML(f.user)+"}")
	}
	if f.group != "" {
		subjects = append(subjects, "{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "+plain.YAML(f.group)+"}")
	}
	return strings.Join(subjects, "\n- "), nil
}

package rbac

import (
	"strings"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
)

// Subject is the account to bind Roles to. It may have several parts.
type Subject struct{ ServiceAccount, User, Group string }

// YAML returns the subject as it stands in a binding; "" if it is empty. It is an error if the
// ServiceAccount is not NAMESPACE/NAME.
func (f Subject) YAML() (string, error) {
	var subjects []string
	if f.ServiceAccount != "" {
		namespace, name, ok := strings.Cut(f.ServiceAccount, "/")
		if !ok || namespace == "" || name == "" {
			return "", usage.Errorf("--service-account=%s: write NAMESPACE/NAME", f.ServiceAccount)
		}
		subjects = append(subjects, "{kind: ServiceAccount, namespace: "+plain.YAML(namespace)+", name: "+plain.YAML(name)+"}")
	}
	if f.User != "" {
		subjects = append(subjects, "{kind: User, apiGroup: rbac.authorization.k8s.io, name: "+plain.YAML(f.User)+"}")
	}
	if f.Group != "" {
		subjects = append(subjects, "{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "+plain.YAML(f.Group)+"}")
	}
	return strings.Join(subjects, "\n- "), nil
}

package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// YAML returns Roles with these rules and, unless subject is "", their bindings. subject is
// that of Subject.YAML.
func (rules Rules) YAML(name, subject string) string {
	var out strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(rules)) {
		kind := "Role"
		metadata := "{name: " + plain.YAML(name) + ", namespace: " + plain.YAML(namespace) + "}"
		if namespace == "" {
			kind, metadata = "ClusterRole", "{name: "+plain.YAML(name)+"}"
		}
		fmt.Fprintf(&out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: %s\nrules:\n", kind, metadata)
		for _, r := range rules[namespace] {
			out.WriteString(r.yaml())
		}
		if subject != "" {
			fmt.Fprintf(&out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\nmetadata: %s\n", kind, metadata)
			fmt.Fprintf(&out, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\nsubjects:\n- %s\n", kind, plain.YAML(name), subject)
		}
	}
	return out.String()
}

// yaml returns the rule as one line of YAML.
func (r rule) yaml() string {
	line := fmt.Sprintf("- {apiGroups: [%s], resources: [%s], ", plain.YAML(r.group), scalars(r.resources))
	if len(r.names) > 0 {
		line += "resourceNames: [" + scalars(r.names) + "], "
	}
	return line + "verbs: [" + scalars(r.verbs) + "]}\n"
}

func scalars(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = plain.YAML(s)
	}
	return strings.Join(out, ", ")
}

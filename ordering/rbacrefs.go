package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

const rbacGroup = "rbac.authorization.k8s.io"

func isBinding(id object.ID) bool {
	return id.Group == rbacGroup && (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding")
}

// binding adds edges from the role and the ServiceAccounts that a binding
// names.
func (refs *references) binding(r Resource) {
	if !isBinding(r.ID) {
		return
	}
	refs.need(roleOf(r), helps, "rbac", "roleRef names")
	for _, account := range boundAccounts(r) {
		refs.need(account, helps, "rbac", "subjects name")
	}
}

// roleOf returns the role of a binding.
func roleOf(binding Resource) object.ID {
	role := object.ID{Group: rbacGroup, Kind: str(binding.Object, "roleRef", "kind"), Name: str(binding.Object, "roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = binding.Namespace
	}
	return role
}

// addBinding indexes a binding by its subjects, and ClusterRoles that may be
// aggregated.
func (ix *index) addBinding(i int, r Resource) {
	for _, account := range boundAccounts(r) {
		ix.bindings[account] = append(ix.bindings[account], i)
	}
	if isBinding(r.ID) {
		for _, subject := range list(r.Object, "subjects") {
			if str(subject, "kind") == "Group" {
				group := str(subject, "name")
				ix.groups[group] = append(ix.groups[group], i)
			}
		}
	}
	if isClusterRole(r.ID) && len(r.Labels) > 0 {
		ix.aggregatableRoles = append(ix.aggregatableRoles, i)
	}
}

// bindingsOf returns the bindings of a ServiceAccount or of a group that it
// belongs to.
func (ix *index) bindingsOf(account object.ID) []int {
	return slices.Concat(ix.bindings[account], ix.groups["system:serviceaccounts:"+account.Namespace], ix.groups["system:serviceaccounts"])
}

func isClusterRole(id object.ID) bool { return id.Group == rbacGroup && id.Kind == "ClusterRole" }

// aggregates adds edges from the ClusterRoles that a ClusterRole aggregates;
// without them it grants nothing.
func (refs *references) aggregates(r Resource) {
	if !isClusterRole(r.ID) {
		return
	}
	for _, v := range list(r.Object, "aggregationRule", "clusterRoleSelectors") {
		s := readSelector(v)
		for _, role := range refs.aggregatableRoles {
			if s.matches(refs.resources[role].Labels) {
				refs.edge(role, Applied, helps, "rbac", "aggregates")
			}
		}
	}
}

// boundAccounts returns the ServiceAccounts of a binding; none for other kinds.
func boundAccounts(r Resource) []object.ID {
	if !isBinding(r.ID) {
		return nil
	}
	var accounts []object.ID
	for _, subject := range list(r.Object, "subjects") {
		if str(subject, "kind") != "ServiceAccount" {
			continue
		}
		namespace := str(subject, "namespace")
		if namespace == "" {
			namespace = r.Namespace
		}
		accounts = append(accounts, object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: str(subject, "name")})
	}
	return accounts
}

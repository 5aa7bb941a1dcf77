package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

const rbacGroup = "rbac.authorization.k8s.io"

func isBinding(id object.ID) bool {
	return id.Group == rbacGroup && (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding")
}

// binding: the role and the accounts that a binding names come first.
func (refs *references) binding(r Resource) {
	if !isBinding(r.ID) {
		return
	}
	refs.need(roleOf(r), helps, "rbac", "roleRef names")
	for _, account := range boundAccounts(r) {
		refs.need(account, helps, "rbac", "subjects name")
	}
}

// roleOf is the role that a binding gives.
func roleOf(binding Resource) object.ID {
	role := object.ID{Group: rbacGroup, Kind: str(binding.Object, "roleRef", "kind"), Name: str(binding.Object, "roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = binding.Namespace
	}
	return role
}

// addBinding notes the accounts and groups that a binding gives its role to, and
// the ClusterRoles that may be aggregated.
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
		ix.aggregated = append(ix.aggregated, i)
	}
}

// bindingsOf are those that name an account, or a group that it is in.
func (ix *index) bindingsOf(account object.ID) []int {
	return slices.Concat(ix.bindings[account], ix.groups["system:serviceaccounts:"+account.Namespace], ix.groups["system:serviceaccounts"])
}

func isClusterRole(id object.ID) bool { return id.Group == rbacGroup && id.Kind == "ClusterRole" }

// aggregates: the ClusterRoles that another one aggregates come first: without
// them it gives no rights.
func (refs *references) aggregates(r Resource) {
	if !isClusterRole(r.ID) {
		return
	}
	for _, v := range list(r.Object, "aggregationRule", "clusterRoleSelectors") {
		s := readSelector(v)
		for _, role := range refs.aggregated {
			if s.matches(refs.resources[role].Labels) {
				refs.edge(role, Applied, helps, "rbac", "aggregates")
			}
		}
	}
}

// boundAccounts lists the ServiceAccounts that a binding gives its role to;
// none for anything that is no binding.
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

package references

import (
	"cmp"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// RBACGroup is the API group of roles and bindings.
const RBACGroup = "rbac.authorization.k8s.io"

// IsBinding reports whether an ID names a RoleBinding or a ClusterRoleBinding.
func IsBinding(id object.ID) bool {
	return id.Group == RBACGroup && (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding")
}

// binding adds edges from the role and the ServiceAccounts that a binding
// names.
func (refs *references) binding(r ordering.Resource) {
	if !IsBinding(r.ID) {
		return
	}
	refs.need(roleOf(r), graph.Helps, "rbac", "roleRef names")
	for _, account := range boundAccounts(r) {
		refs.need(account, graph.Helps, "rbac", "subjects name")
	}
}

func roleOf(binding ordering.Resource) object.ID {
	role := object.ID{Group: RBACGroup, Kind: String(binding.Object, "roleRef", "kind"), Name: String(binding.Object, "roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = binding.Namespace
	}
	return role
}

// addBinding indexes a binding by its subjects, and ClusterRoles that may be
// aggregated.
func (ix *Index) addBinding(i int, r ordering.Resource) {
	for _, account := range boundAccounts(r) {
		ix.bindings[account] = append(ix.bindings[account], i)
	}
	if IsBinding(r.ID) {
		for _, subject := range List(r.Object, "subjects") {
			if String(subject, "kind") == "Group" {
				group := String(subject, "name")
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
func (ix *Index) bindingsOf(account object.ID) []int {
	return slices.Concat(ix.bindings[account], ix.groups["system:serviceaccounts:"+account.Namespace], ix.groups["system:serviceaccounts"])
}

func isClusterRole(id object.ID) bool { return id.Group == RBACGroup && id.Kind == "ClusterRole" }

// aggregates adds edges from the ClusterRoles that a ClusterRole aggregates;
// without them it grants nothing.
func (refs *references) aggregates(r ordering.Resource) {
	if !isClusterRole(r.ID) {
		return
	}
	for _, v := range List(r.Object, "aggregationRule", "clusterRoleSelectors") {
		s := readSelector(v)
		for _, role := range refs.aggregatableRoles {
			if s.matches(refs.Resources[role].Labels) {
				refs.edge(role, ordering.Applied, graph.Helps, "rbac", "aggregates")
			}
		}
	}
}

// boundAccounts returns the ServiceAccounts of a binding; none for other kinds.
func boundAccounts(r ordering.Resource) []object.ID {
	if !IsBinding(r.ID) {
		return nil
	}
	var accounts []object.ID
	for _, subject := range List(r.Object, "subjects") {
		if String(subject, "kind") != "ServiceAccount" {
			continue
		}
		accounts = append(accounts, object.ID{Kind: "ServiceAccount", Namespace: cmp.Or(String(subject, "namespace"), r.Namespace), Name: String(subject, "name")})
	}
	return accounts
}

package ordering

import "github.com/ordapply/ordapply/object"

const rbacGroup = "rbac.authorization.k8s.io"

func isBinding(id object.ID) bool {
	return id.Group == rbacGroup && (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding")
}

// binding: the role and the accounts that a binding names come first.
func (refs *references) binding(r Resource) {
	if !isBinding(r.ID) {
		return
	}
	role := object.ID{Group: rbacGroup, Kind: str(r.Object, "roleRef", "kind"), Name: str(r.Object, "roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = r.Namespace
	}
	refs.need(role, helps, "rbac", "roleRef names")
	for _, account := range boundAccounts(r) {
		refs.need(account, helps, "rbac", "subjects name")
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

package references

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// token adds the edge from the ServiceAccount that a token Secret is for. The token
// controller deletes such a Secret when it finds no account.
func (refs *references) token(r ordering.Resource) {
	if r.Group != "" || r.Kind != "Secret" || String(r.Object, "type") != "kubernetes.io/service-account-token" {
		return
	}
	account := object.ID{Kind: "ServiceAccount", Namespace: r.Namespace, Name: r.Annotations["kubernetes.io/service-account.name"]}
	refs.need(account, graph.Required, "token", "annotation kubernetes.io/service-account.name names")
}

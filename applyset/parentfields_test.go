package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordapply/ordapply/applyset"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// Taking over a set migrates only the fields of KEP-3659 on its parent. The
// Secret's data and other labels keep their owners.
func TestOnlyTheSetsOwnFieldsAreTaken(t *testing.T) {
	got := applyset.WithParentFields([]metav1.ManagedFieldsEntry{
		entry("kubectl-applyset", metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:annotations":{"f:applyset.kubernetes.io/tooling":{},"f:applyset.kubernetes.io/contains-group-resources":{}},"f:labels":{"f:applyset.kubernetes.io/id":{}}}}`),
		entry("vault", metav1.ManagedFieldsOperationApply, `{"f:data":{".":{},"f:token":{}},"f:metadata":{"f:labels":{".":{},"f:team":{}}}}`),
		entry("kubectl-annotate", metav1.ManagedFieldsOperationUpdate, `{"f:metadata":{"f:annotations":{".":{},"f:applyset.kubernetes.io/additional-namespaces":{},"f:note":{}}}}`),
		entry("ours", metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:labels":{"f:applyset.kubernetes.io/id":{}}}}`),
	}, "ours")
	fields := map[string]string{}
	for _, e := range got {
		fields[e.Manager] = string(e.FieldsV1.GetRawBytes())
	}
	require.Len(t, fields, 3)
	require.JSONEq(t, `{"f:data":{".":{},"f:token":{}},"f:metadata":{"f:labels":{".":{},"f:team":{}}}}`, fields["vault"])
	require.JSONEq(t, `{"f:metadata":{"f:annotations":{".":{},"f:note":{}}}}`, fields["kubectl-annotate"])
	require.JSONEq(t, `{"f:metadata":{"f:annotations":{"f:applyset.kubernetes.io/tooling":{},"f:applyset.kubernetes.io/contains-group-resources":{},"f:applyset.kubernetes.io/additional-namespaces":{}},"f:labels":{"f:applyset.kubernetes.io/id":{}}}}`, fields["ours"])
}

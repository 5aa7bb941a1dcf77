package write

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// For some kinds the API server names only the fields of the spec that may
// change. The error passes these on, and says what is lost with the object.
func TestImmutableFields(t *testing.T) {
	for kind, c := range map[string]struct{ says, want string }{
		"StatefulSet": {
			says: "updates to statefulset spec for fields other than 'replicas', 'ordinals' and 'minReadySeconds' are forbidden",
			want: "spec (except for replicas, ordinals and minReadySeconds) cannot be changed on a live StatefulSet: give it a new name, or have it deleted and recreated with the annotation ordapply.dev/on-immutable: recreate",
		},
		"PersistentVolumeClaim": {
			says: "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n  core.PersistentVolumeClaimSpec{}",
			want: "spec (except for resources.requests and volumeAttributesClassName) cannot be changed on a live PersistentVolumeClaim: give it a new name, or have it deleted and recreated, which loses the data on its volume, with the annotation ordapply.dev/on-immutable: recreate",
		},
		"Pod": {
			says: "pod updates may not change fields other than `spec.containers[*].image`,`spec.tolerations` (only additions to existing tolerations)\n  core.PodSpec{}",
			want: "spec (except for spec.containers[*].image, spec.tolerations (only additions to existing tolerations)) cannot be changed on a live Pod: give it a new name, or have it deleted and recreated with the annotation ordapply.dev/on-immutable: recreate",
		},
	} {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "a", field.ErrorList{field.Forbidden(field.NewPath("spec"), c.says)})
		require.EqualError(t, ImmutableError(ImmutableFields(err), kind), c.want)
	}
	require.ErrorContains(t, ImmutableError([]string{"spec.scope"}, "CustomResourceDefinition"), "recreated, which deletes all its custom resources, with")
}

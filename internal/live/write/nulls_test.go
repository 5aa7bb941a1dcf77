package write

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// strict rejects nulls as the schema of a custom resource does, by the index of the merged
// list, and records the bodies it gets.
type strict struct {
	refused [][]string // paths that each answer refuses
	sent    []*unstructured.Unstructured
}

func (s *strict) Apply(_ context.Context, _ kube.Kind, body *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	s.sent = append(s.sent, body.DeepCopy())
	if len(s.refused) < len(s.sent) {
		return body, nil
	}
	status := metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{}}
	for _, path := range s.refused[len(s.sent)-1] {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: path, Message: `Invalid value: "null": ` + path + ` in body must be of type object: "null"`,
		})
	}
	return nil, &apierrors.StatusError{ErrStatus: status}
}

// Which nulls a server refused is known from its answer alone: the next body has the same
// fingerprint, and a manifest with one null more is another one.
func TestRefusedNullsAreRemembered(t *testing.T) {
	thing := parse(t, `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, labels: {a: null}}
spec:
  csi: null
  limit: null
  list: [{kept: null, other: null}, {other: null}]
`)
	body, err := Stream{}.Body(thing)
	require.NoError(t, err)
	server := &strict{refused: [][]string{{"spec.list[4].other", "spec.list[5].other"}, {"spec.csi"}}}
	live, err := Apply(t.Context(), server, kube.Kind{}, body, kube.PatchOptions{})
	require.NoError(t, err)
	require.Len(t, server.sent, 3)
	require.Equal(t, thing.Object["spec"], server.sent[0].Object["spec"], "the server judges every null")
	require.Equal(t, parse(t, `{limit: null, list: [{kept: null}, {}]}`).Object, live.Object["spec"])
	require.Equal(t, server.sent[0].GetAnnotations()[applyset.AppliedAnnotation]+" spec.csi spec.list[].other", live.GetAnnotations()[applyset.AppliedAnnotation])

	again, err := Stream{}.BodyFor(thing, live, Owner{Manager: "ordapply"})
	require.NoError(t, err)
	require.Equal(t, live.Object, again.Object)
	more := thing.DeepCopy()
	more.Object["spec"].(map[string]any)["new"] = nil
	again, err = Stream{}.BodyFor(more, live, Owner{Manager: "ordapply"})
	require.NoError(t, err)
	require.Equal(t, more.Object["spec"], again.Object["spec"])
}

package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Each error of a run is a line with its cause, bounded, and without values of Secrets.
func TestReasonsHaveTheCause(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"password": "hunter2hunter2"}}}
	r := Run{Stream: &apply.Stream{Resources: []ordering.Resource{{Object: secret.Object}}}}
	failed := func(cause string) error {
		return &event.Error{Wave: "wave 1/1", Op: event.OpWait, ID: object.ID{Kind: "Pod", Name: "a"}, Err: errors.New("not ready"), Diagnosis: &event.Diagnosis{Cause: cause}}
	}
	const text = "wave 1/1: wait for Pod a: not ready"
	require.Equal(t, text+"; exit code 1, with (value of a Secret)\n"+text+"\nlost", r.reasonOf(errors.Join(failed("exit code 1,\n with hunter2hunter2"), failed(""), errors.New("lost"))))
	require.Equal(t, text+"; "+strings.Repeat("x", maxReason)+"…", r.reasonOf(failed(strings.Repeat("x", 2*maxReason))))
}

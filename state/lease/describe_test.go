package lease

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// oneLease is a cluster whose only object is a Lease with this spec; nil: none.
type oneLease map[string]any

func (l oneLease) Get(context.Context, kube.Kind, string, string) (*unstructured.Unstructured, error) {
	if l == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	}
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any(l)}}, nil
}

// A lock is described by its holder and the last renewal, or as expired or free.
func TestDescribe(t *testing.T) {
	held := oneLease{"holderIdentity": "ann@laptop process 7 at 2026-03-01T08:59:00.123Z", "leaseDurationSeconds": int64(15), "acquireTime": "2026-03-01T08:59:00.200000Z", "renewTime": "2026-03-01T09:00:00.000000Z"}
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lease oneLease
		now   time.Time
		want  string
	}{
		{held, at.Add(15 * time.Second), "the lock is held by ann@laptop process 7 since 2026-03-01T08:59:00Z, renewed at 2026-03-01T09:00:00Z"},
		{held, at.Add(16 * time.Second), "the lock of ann@laptop process 7 expired: it was renewed last at 2026-03-01T09:00:00Z"},
		{oneLease{"holderIdentity": "", "leaseDurationSeconds": int64(1)}, at, "no run holds the lock"},
		{nil, at, "no run holds the lock"},
	} {
		text, err := Describe(t.Context(), c.lease, object.ID{}, c.now)
		require.NoError(t, err)
		require.Equal(t, c.want, text)
	}
}

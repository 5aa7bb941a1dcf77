package telemetry

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// answers responds to every request with 200.
type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// client is a client of an API server, not a cluster in memory: the tests measure its HTTP
// requests, one for every call. It rejects some of the PATCHes of Deployments.
type client struct {
	kube.Cluster
	send     http.RoundTripper
	refusals int
}

// Fenced implements kube.Cluster.
func (c *client) Fenced(kube.Fence) kube.Cluster { return c }

func (c *client) Apply(ctx context.Context, _ kube.Kind, obj *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	if _, err := c.request(ctx); err != nil {
		return nil, err
	}
	if obj.GetKind() == "Deployment" && c.refusals > 0 {
		c.refusals--
		return nil, apierrors.NewInternalError(errors.New("busy"))
	}
	return obj, nil
}

func (c *client) Refresh(ctx context.Context, _ ...schema.GroupVersion) error {
	_, err := c.request(ctx)
	return err
}

func (c *client) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.Kind{Resource: gvk.GroupVersion().WithResource("deployments")}, true
}

// Watch lists once and watches twice.
func (c *client) Watch(ctx context.Context, _ kube.Kind, _ string, _ kube.Query, _ func(kube.WatchEvent)) {
	for _, query := range []string{"", "?watch=true", "?watch=true"} {
		_, _ = c.requestTo(ctx, "https://server/"+query)
	}
}

func (c *client) request(ctx context.Context) (*http.Response, error) {
	return c.requestTo(ctx, "https://server/")
}

func (c *client) requestTo(ctx context.Context, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return c.send.RoundTrip(r)
}

func get(ctx context.Context, t *testing.T, send http.RoundTripper, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	_, err = send.RoundTrip(r)
	require.NoError(t, err)
}

func manifest(id object.ID) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: id.Group, Version: "v1", Kind: id.Kind})
	u.SetNamespace(id.Namespace)
	u.SetName(id.Name)
	return u
}

func configMaps() schema.GroupResource { return schema.GroupResource{Resource: "configmaps"} }

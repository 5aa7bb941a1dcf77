package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// warned counts the warnings of an API server.
type warned int

func (w *warned) HandleWarningHeader(int, string, string) { *w++ }

// deprecating connects to a server whose every answer has a warning. sent returns the
// methods and paths of the requests about ConfigMaps, and forgets them.
func deprecating(t *testing.T) (cluster *Kubernetes, sent func() []string, warnings *warned) {
	t.Helper()
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.URL.Path, "configmaps") {
			_, _ = fmt.Fprint(w, `{}`)
			return
		}
		all = append(all, r.Method+" "+r.URL.Path)
		w.Header().Set("Warning", `299 - "deprecated"`)
		kind := "ConfigMap"
		if r.Method == http.MethodGet {
			kind = "ConfigMapList"
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion": "v1", "kind": %q, "items": []}`, kind)
	}))
	t.Cleanup(server.Close)
	warnings = new(warned)
	cluster, err := Connect(&rest.Config{Host: server.URL, WarningHandler: warnings})
	require.NoError(t, err)
	return cluster, func() []string { out := all; all = nil; return out }, warnings
}

// Whatever a fenced client writes passes the fence, and the copies share what discovery
// found. Neither the client itself nor one with a connection of its own has a fence.
func TestAFencedClient(t *testing.T) {
	cluster, sent, _ := deprecating(t)
	fenced := cluster.Fenced(func(context.Context) error { return ErrFenced })
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}}
	kind := CoreKind("configmaps")
	writes := map[string]func(Cluster) error{
		"apply":  func(c Cluster) error { _, err := c.Apply(t.Context(), kind, obj, PatchOptions{}); return err },
		"create": func(c Cluster) error { _, err := c.Create(t.Context(), kind, obj); return err },
		"update": func(c Cluster) error { _, err := c.Update(t.Context(), kind, obj); return err },
		"delete": func(c Cluster) error { return c.Delete(t.Context(), kind, obj, DeleteOptions{}) },
		"fields": func(c Cluster) error { return c.SetManagedFields(t.Context(), kind, obj, nil, "m") },
	}
	for name, write := range writes {
		require.ErrorIs(t, write(fenced), ErrFenced, name)
		require.Empty(t, sent(), name)
		for _, other := range []Cluster{cluster, fenced.WithOwnConnection(), fenced.Fenced(func(context.Context) error { return nil })} {
			require.NoError(t, write(other), name)
			require.Len(t, sent(), 1, name)
		}
	}
	_, err := fenced.List(t.Context(), kind, "shop", Query{})
	require.NoError(t, err)
	require.Same(t, cluster.served, fenced.(*Kubernetes).served)
}

// A search through kinds that the user did not name brings no warnings about them.
func TestAQuietListHasNoWarnings(t *testing.T) {
	cluster, sent, warnings := deprecating(t)
	for _, metadata := range []bool{false, true} {
		_, err := cluster.List(t.Context(), CoreKind("configmaps"), "shop", Query{Metadata: metadata, Quiet: true})
		require.NoError(t, err)
		require.Zero(t, *warnings)
		_, err = cluster.List(t.Context(), CoreKind("configmaps"), "shop", Query{Metadata: metadata})
		require.NoError(t, err)
		require.Equal(t, warned(1), *warnings)
		*warnings = 0
		require.Len(t, sent(), 2)
	}
}

package kube

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// patched records the options of the PATCHes that reach a cluster. (memcluster imports
// this package.)
type patched struct {
	Cluster
	options []PatchOptions
}

func (p *patched) Apply(_ context.Context, _ Kind, obj *unstructured.Unstructured, o PatchOptions) (*unstructured.Unstructured, error) {
	p.options = append(p.options, o)
	return obj, nil
}

// A ReadOnly cluster cannot be changed: a PATCH becomes a dry run, and there is nothing
// else that writes.
func TestReadOnlyDoesNotWrite(t *testing.T) {
	cluster := &patched{}
	readOnly := NewReadOnly(cluster)
	_, err := readOnly.Apply(t.Context(), Kind{}, &unstructured.Unstructured{}, PatchOptions{Manager: "m", Force: true})
	require.NoError(t, err)
	require.Equal(t, []PatchOptions{{Manager: "m", Force: true, DryRun: true}}, cluster.options)

	type writer interface {
		Delete(context.Context, Kind, *unstructured.Unstructured, DeleteOptions) error
	}
	require.Implements(t, (*Cluster)(nil), cluster)
	require.NotImplements(t, (*Cluster)(nil), readOnly)
	require.NotImplements(t, (*writer)(nil), readOnly)
}

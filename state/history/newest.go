package history

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// Lister is the API server call that listing needs.
type Lister interface {
	List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error)
}

// NewestOfAll returns the newest revision of each apply set that has its history
// in a namespace, or in any for "", by the ID of the set. It costs one request. A
// revision whose metadata was edited by hand is left out.
func NewestOfAll(ctx context.Context, cluster Lister, namespace string) (map[string]Entry, error) {
	heads, err := cluster.List(ctx, kube.CoreKind("secrets"), namespace, kube.Query{Labels: setLabel + "," + RevisionLabel + ",!" + chunkLabel, Metadata: true})
	if err != nil {
		return nil, fmt.Errorf("list the revisions of apply sets: %w", err)
	}
	newest := map[string]Entry{}
	for _, head := range heads {
		set := head.GetLabels()[setLabel]
		e, err := readEntry(head)
		if err == nil && head.GetDeletionTimestamp() == nil && e.Number > newest[set].Number {
			newest[set] = e
		}
	}
	return newest, nil
}

package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Find returns the metadata of the resources that exist in the cluster. It
// sends one LIST for each kind and namespace, or one GET for each resource
// where lists are not allowed. The error joins one for each kind that cannot be
// read, or is not served and may have objects; the map holds the others.
func Find(ctx context.Context, cluster kube.Cluster, resources []ordering.Resource) (map[object.ID]*unstructured.Unstructured, error) {
	return request.FindMetadata(ctx, cluster, resources)
}

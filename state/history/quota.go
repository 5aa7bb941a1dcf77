package history

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// create stores a Secret of a new revision. Where a quota leaves no room for it, the oldest
// revisions are deleted, except the one that is deployed.
func (h History) create(ctx context.Context, stored *Index, secret *unstructured.Unstructured) error {
	for {
		made, err := h.Cluster.Create(ctx, kube.CoreKind("secrets"), secret)
		if err == nil && stored.latest != nil {
			*stored.latest = made.GetResourceVersion()
		}
		if !isQuota(err) {
			return err
		}
		removed, failure := h.removeOldest(ctx, stored)
		if failure != nil {
			return failure
		}
		if !removed {
			return fmt.Errorf("%w; no older revision of the set is left to delete: raise the quota, or delete other Secrets of namespace %q", err, h.namespace())
		}
	}
}

// removeOldest deletes the oldest revision that is not deployed, and reports whether there
// was one.
func (h History) removeOldest(ctx context.Context, stored *Index) (bool, error) {
	for i, e := range stored.entries {
		if e.Status == Deployed {
			continue
		}
		if err := h.handDown(ctx, e, stored.entries[i+1:]); err != nil {
			return false, err
		}
		stored.entries = append(stored.entries[:i:i], stored.entries[i+1:]...)
		return true, h.removeRevision(ctx, *stored, e)
	}
	return false, nil
}

func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

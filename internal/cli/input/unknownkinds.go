package input

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// UnknownKindNotes returns a note about kinds that are waited for, for at most timeout,
// though neither the cluster nor the stream defines them. A missing operator is thus reported
// before the first write, and not only when --kind-timeout has passed.
func UnknownKindNotes(cluster kube.Cluster, stream *apply.Stream, plan *ordering.Plan, timeout time.Duration) []string {
	if timeout <= 0 {
		return nil
	}
	provided := map[object.ID]bool{}
	for _, s := range plan.Steps {
		provided[s.ID] = len(s.ProvidedBy) > 0
	}
	var unknown []string
	waiting := 0
	for _, r := range stream.Resources {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		_, served := cluster.Kind(gvk)
		if planned, ok := provided[r.ID]; !ok || planned || served || object.IsNative(r.Group) || cluster.Unreadable(gvk.GroupVersion()) != nil {
			continue
		}
		waiting++
		name := r.ID.GroupKind()
		if near := wait.DidYouMean(cluster, gvk); near != "" {
			name += " (" + strings.TrimPrefix(near, "; ") + ")"
		}
		if !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if waiting == 0 {
		return nil
	}
	slices.Sort(unknown)
	whose := "their kinds"
	if waiting == 1 {
		whose = "its kind"
	}
	return []string{fmt.Sprintf("neither the cluster nor the stream defines %s: %s will wait up to %s for %s while others are applied; --kind-timeout=0 fails before anything is written",
		strings.Join(unknown, ", "), plain.Count(waiting, "resource"), timeout, whose)}
}

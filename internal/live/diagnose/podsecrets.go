package diagnose

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// readPodSecrets reads the Secrets that a Pod uses and that are not in the
// stream, so that their values can be hidden in its logs. Where one cannot be
// read, it records why and returns false: then no log line may be shown.
func (q *Diagnoser) readPodSecrets(ctx context.Context, pod *unstructured.Unstructured) bool {
	for _, name := range secretsOf(pod) {
		id := object.ID{Kind: "Secret", Namespace: pod.GetNamespace(), Name: name}
		if q.KnownSecrets[id] {
			continue
		}
		if !q.takeRequest() {
			return false
		}
		live, err := q.Cluster.Get(ctx, kube.CoreKind("secrets"), id.Namespace, id.Name)
		switch {
		case err == nil:
			q.SecretValues = append(q.SecretValues, redact.Values(live)...)
		case !fault.IsMissing(err):
			q.RecordUnread(fmt.Sprintf("logs of %s are not shown: they may hold values of %s, which cannot be read (get secrets): %s", kube.Meta(pod).ID, id, fault.WithoutURL(err)))
			return false
		}
		q.KnownSecrets[id] = true
	}
	return true
}

// secretsOf returns the names of all Secrets that a Pod's containers and
// volumes use.
func secretsOf(pod *unstructured.Unstructured) []string {
	names := map[string]bool{}
	var look func(any)
	look = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, inner := range v {
				look(inner)
			}
		case map[string]any:
			for key, inner := range v {
				if fields, ok := inner.(map[string]any); ok && slices.Contains([]string{"secret", "secretRef", "secretKeyRef", "nodePublishSecretRef"}, key) {
					for _, field := range []string{"name", "secretName"} {
						if name, ok := fields[field].(string); ok && name != "" {
							names[name] = true
						}
					}
				}
				look(inner)
			}
		}
	}
	look(pod.Object["spec"])
	return slices.Sorted(maps.Keys(names))
}

package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// learnSecrets reads the Secrets that a Pod uses and the stream does not hold, so that
// their values can be hidden in its logs. It is false, and notes why, where one cannot
// be read: then no line of a log may be shown.
func (q *inquiry) learnSecrets(ctx context.Context, pod *unstructured.Unstructured) bool {
	for _, name := range secretsOf(pod) {
		id := object.ID{Kind: "Secret", Namespace: pod.GetNamespace(), Name: name}
		if q.known[id] {
			continue
		}
		if !q.allowed() {
			return false
		}
		live, err := q.cluster.Get(ctx, coreKind("secrets"), id.Namespace, id.Name)
		switch {
		case err == nil:
			q.values = append(q.values, valuesIn(live)...)
		case !missing(err):
			q.missed(fmt.Sprintf("logs of %s are not shown: they may hold values of %s, which cannot be read (get secrets): %s", Meta(pod).ID, id, brief(err)))
			return false
		}
		q.known[id] = true
	}
	return true
}

// secretsOf are the names of all Secrets that a Pod's containers and volumes use.
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

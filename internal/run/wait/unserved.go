package wait

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// KindServer reports the served kinds; kube.Cluster does.
type KindServer interface {
	kube.Discovery
	Unreadable(schema.GroupVersion) error
	StoredKinds() []schema.GroupVersionKind
}

// MissingNamespace returns the error for an object without a namespace whose kind turned
// out to be namespaced.
func MissingNamespace(kind string) error {
	return event.WithCode(event.CodeInvalid, fmt.Errorf("kind %s is namespaced, which was not known when the run began: set metadata.namespace", kind))
}

// Unserved returns the error for a kind that nothing in the stream defines
// and that is not served, with the likely reason. waited is how long it was
// waited for, "" if not at all.
func Unserved(cluster KindServer, kind schema.GroupVersionKind, waited string) error {
	return event.WithCode(event.CodeNotServed, whyUnserved(cluster, kind, waited))
}

func whyUnserved(cluster KindServer, kind schema.GroupVersionKind, waited string) error {
	still := ""
	if waited != "" {
		still = " even after " + waited
	}
	if err := cluster.Unreadable(kind.GroupVersion()); err != nil {
		return fmt.Errorf("the backend of %s does not answer%s: %w; check its APIService (kubectl describe apiservice %s.%s)",
			kind.GroupVersion(), still, fault.WithoutURL(err), kind.Version, kind.Group)
	}
	if versions := cluster.Versions(kind.GroupKind()); len(versions) > 0 {
		return fmt.Errorf("the cluster serves kind %s of group %q in %s, not in %s: update the manifest's apiVersion to %s (of a chart: helm template --api-versions %[5]s/%[1]s)",
			kind.Kind, kind.Group, strings.Join(versions, ", "), kind.Version, schema.GroupVersion{Group: kind.Group, Version: versions[0]})
	}
	if object.IsNative(kind.Group) {
		return unknownBuiltin(cluster, kind)
	}
	if near := DidYouMean(cluster, kind); near != "" {
		return fmt.Errorf("the cluster does not serve kind %s of %s%s%s "+
			"If not, install its CustomResourceDefinition, or start the operator that creates the kind",
			kind.Kind, kind.GroupVersion(), still, near)
	}
	return fmt.Errorf("the cluster does not serve kind %s of %s%s. "+
		"Either its CustomResourceDefinition is missing (install it, or add it to the stream), "+
		"or its apiVersion or kind is misspelled (kubectl api-resources lists what is served), "+
		"or the operator that creates the kind is not running (start it first)",
		kind.Kind, kind.GroupVersion(), still)
}

// DidYouMean returns the end of a message about a kind that is not served, with the
// most similar one that is: "; did you mean Gizmo of acme.dev/v1?", or "" if none is.
func DidYouMean(cluster KindServer, kind schema.GroupVersionKind) string {
	near, ok := nearest.Best(cluster.StoredKinds(), func(known schema.GroupVersionKind) (int, bool) {
		return nearest.KindDistance(kind.Group, kind.Kind, known.Group, known.Kind)
	})
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %s of %s?", near.Kind, near.GroupVersion())
}

// unknownBuiltin returns the error for a kind of a built-in API group that the
// cluster does not serve: nothing could be installed to bring it.
func unknownBuiltin(cluster KindServer, kind schema.GroupVersionKind) error {
	var ofGroup, elsewhere []string
	for _, known := range cluster.StoredKinds() {
		if known.Group == kind.Group {
			ofGroup = append(ofGroup, known.Kind)
		}
		if known.Kind == kind.Kind {
			elsewhere = append(elsewhere, known.GroupVersion().String())
		}
	}
	hint := nearest.DidYouMean(kind.Kind, ofGroup)
	if len(elsewhere) > 0 {
		hint = fmt.Sprintf("; it serves %s in %s", kind.Kind, strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("this cluster has no kind %s in %s: correct the manifest's apiVersion or kind%s", kind.Kind, kind.GroupVersion(), hint)
}

package write

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// A null is sent like any other value. The schema of a custom resource may refuse it:
// kubectl create and client-side apply then leave the field out, and server-side apply
// returns an error. Such nulls are left out of a second PATCH. Their paths follow the
// fingerprint in the annotation ordapply.dev/applied, so that a later run knows them from the
// API server's answer, and not from the owners of fields.

// Patcher sends a server-side apply, as kube.Cluster does.
type Patcher interface {
	Apply(context.Context, kube.Kind, *unstructured.Unstructured, kube.PatchOptions) (*unstructured.Unstructured, error)
}

// Apply applies a body. Where the schema of a custom resource refuses nulls, Apply drops them
// from the body and applies again. The error is the API server's.
func Apply(ctx context.Context, cluster Patcher, kind kube.Kind, body *unstructured.Unstructured, options kube.PatchOptions) (*unstructured.Unstructured, error) {
	for {
		live, err := cluster.Apply(ctx, kind, body, options)
		if err == nil || !dropNullsAt(body, refusedNulls(err)) {
			return live, err
		}
	}
}

// refusedNulls returns the paths of the nulls because of which the API server rejected a
// custom resource.
func refusedNulls(err error) map[string]bool {
	status, ok := fault.AsStatus(err)
	if !ok || !apierrors.IsInvalid(err) || status.Details == nil {
		return nil
	}
	refused := map[string]bool{}
	for _, cause := range status.Details.Causes {
		if strings.Contains(cause.Message, `Invalid value: "null"`) {
			refused[withoutIndexes(cause.Field)] = true
		}
	}
	return refused
}

// withoutIndexes drops the list indexes from a field's path: the server's
// refer to the merged list.
func withoutIndexes(path string) string {
	return regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]")
}

// dropKnownRefusedNulls drops the nulls that the API server refused when this very manifest
// was applied to the live object.
func dropKnownRefusedNulls(body, live *unstructured.Unstructured) {
	applied, _ := object.Annotation(live.Object, applyset.AppliedAnnotation)
	print, paths, _ := strings.Cut(applied, " ")
	if paths == "" || print != body.GetAnnotations()[applyset.AppliedAnnotation] {
		return
	}
	refused := map[string]bool{}
	for _, path := range strings.Fields(paths) {
		refused[path] = true
	}
	dropNullsAt(body, refused)
}

// dropNullsAt drops nulls from a body, adds their paths to its fingerprint, and reports
// whether there were any.
func dropNullsAt(body *unstructured.Unstructured, refused map[string]bool) bool {
	dropped := map[string]bool{}
	dropNulls(body.Object, "", refused, dropped)
	if len(dropped) == 0 {
		return false
	}
	print, before, _ := strings.Cut(body.GetAnnotations()[applyset.AppliedAnnotation], " ")
	for _, path := range strings.Fields(before) {
		dropped[path] = true
	}
	paths := slices.Sorted(maps.Keys(dropped))
	setIn(body, "annotations", applyset.AppliedAnnotation, strings.Join(append([]string{print}, paths...), " "))
	return true
}

// dropNulls drops the nulls at the paths of refused, and records them in dropped.
func dropNulls(value any, path string, refused, dropped map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			below := strings.TrimPrefix(path+"."+name, ".")
			if field == nil && refused[below] {
				delete(value, name)
				dropped[below] = true
				continue
			}
			dropNulls(field, below, refused, dropped)
		}
	case []any:
		for _, element := range value {
			dropNulls(element, path+"[]", refused, dropped)
		}
	}
}

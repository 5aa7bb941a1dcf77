package write_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/live/write"
)

func live(apiVersion, kind string, entries ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a"}, "spec": map[string]any{}}}
	for i := range entries {
		entries[i].APIVersion = apiVersion
	}
	obj.SetManagedFields(entries)
	return obj
}

func entry(manager string, op metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

const (
	update  = metav1.ManagedFieldsOperationUpdate
	applied = metav1.ManagedFieldsOperationApply
)

// Only tools that apply whole manifests are taken over, by any operation, and never as the
// controllers of their own objects.
func TestWhoseFieldsAreTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   []string
	}{
		"helm 3":              {live("v1", "ConfigMap", entry("helm", update, `{"f:spec":{"f:a":{}}}`)), []string{"helm"}},
		"helm 4":              {live("v1", "ConfigMap", entry("helm", applied, `{"f:spec":{"f:a":{}}}`)), []string{"helm"}},
		"a versioned name":    {live("v1", "ConfigMap", entry("terraform-provider-helm_v2.13.0_x5", update, `{"f:spec":{"f:a":{}}}`)), []string{"terraform-provider-helm_v2.13.0_x5"}},
		"a human":             {live("v1", "ConfigMap", entry("kubectl-edit", update, `{"f:spec":{"f:a":{}}}`)), nil},
		"a controller":        {live("apps/v1", "Deployment", entry("kube-controller-manager", update, `{"f:spec":{"f:a":{}}}`)), nil},
		"another name":        {live("v1", "ConfigMap", entry("helmsman", applied, `{"f:spec":{"f:a":{}}}`)), nil},
		"only a status":       {live("x.example/v1", "Thing", entry("helm", update, `{"f:status":{"f:a":{}}}`)), nil},
		"only finalizers":     {live("v1", "ConfigMap", entry("helm", update, `{"f:metadata":{"f:finalizers":{"v:\"x\"":{}}}}`)), nil},
		"its own API":         {live("argoproj.io/v1alpha1", "Application", entry("argocd-application-controller", update, `{"f:operation":{}}`)), nil},
		"its own API, below":  {live("kustomize.toolkit.fluxcd.io/v1", "Kustomization", entry("kustomize-controller", update, `{"f:spec":{"f:a":{}}}`)), nil},
		"others at its API":   {live("argoproj.io/v1alpha1", "Application", entry("helm", update, `{"f:spec":{"f:a":{}}}`)), []string{"helm"}},
		"kubectl, own name":   {live("v1", "ConfigMap", entry("ci", update, `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`)), []string{"ci"}},
		"kubectl's edit":      {live("v1", "ConfigMap", entry("kubectl-edit", update, `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`)), nil},
		"applied by a run":    {live("v1", "ConfigMap", entry("helm", update, `{"f:spec":{"f:a":{}}}`), entry("ordapply", applied, `{"f:metadata":{"f:annotations":{"f:ordapply.dev/applied":{}}}}`)), nil},
		"an interrupted run":  {live("v1", "ConfigMap", entry("helm", update, `{"f:spec":{"f:a":{}}}`), entry("ordapply", applied, `{"f:spec":{"f:b":{}}}`)), []string{"helm"}},
		"left to its manager": {live("apps/v1", "Deployment", entry("helm", update, `{"f:spec":{"f:replicas":{}}}`)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			owner := write.Owner{Manager: "ordapply"}
			left := func(path fieldpath.Path) bool { return path.String() == ".spec.replicas" }
			require.Equal(t, c.want, owner.Takeover(c.object).Of(c.object, left).Managers)
		})
	}
	taken := live("v1", "ConfigMap", entry("helm", update, `{"f:spec":{"f:a":{}}}`), entry("ordapply", applied, `{"f:metadata":{"f:annotations":{"f:ordapply.dev/applied":{}}}}`))
	owner := write.Owner{Manager: "ordapply", Force: applyset.Force{Managers: []string{"helm"}}}
	require.Equal(t, []string{"helm"}, owner.Takeover(taken).Of(taken, nil).Managers, "--force-conflicts=helm")
}

// Two tools that apply the same object share the fields that both name. The key of an item,
// the container of fields and the records of a run are not shared.
func TestSharedFields(t *testing.T) {
	ours := entry("ordapply", applied, `{"f:metadata":{"f:annotations":{"f:ordapply.dev/applied":{}}},"f:spec":{"f:items":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:image":{}}}}}`)
	for name, c := range map[string]struct {
		other metav1.ManagedFieldsEntry
		want  []string
	}{
		"the same field":  {entry("helm", update, `{"f:spec":{"f:items":{"k:{\"name\":\"x\"}":{"f:image":{}}}}}`), []string{"helm"}},
		"any applier":     {entry("team-b", applied, `{"f:spec":{"f:items":{"k:{\"name\":\"x\"}":{"f:image":{}}}}}`), []string{"team-b"}},
		"any writer":      {entry("team-b", update, `{"f:spec":{"f:items":{"k:{\"name\":\"x\"}":{"f:image":{}}}}}`), nil},
		"another field":   {entry("helm", applied, `{"f:spec":{"f:items":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:resources":{}}}}}`), nil},
		"only the record": {entry("helm", applied, `{"f:metadata":{"f:annotations":{"f:ordapply.dev/applied":{}}}}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, write.Owner{Manager: "ordapply"}.SharedWith(live("v1", "Thing", ours, c.other)))
		})
	}
}

// Fields that left the manifest to another owner are named by the outermost one.
func TestLeftFields(t *testing.T) {
	before := entry("ordapply", applied, `{"f:spec":{"f:a":{},"f:items":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:image":{}}}}}`)
	now := live("v1", "Thing", entry("ordapply", applied, `{"f:spec":{"f:a":{}}}`), entry("helm", update, `{"f:spec":{"f:items":{".":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:image":{}}}}}`))
	left := write.Owner{Manager: "ordapply"}.LeftFields([]metav1.ManagedFieldsEntry{before}, now)
	require.Len(t, left, 1)
	require.Equal(t, "helm", left[0].Manager)
	require.Equal(t, []string{"spec.items[name=x]"}, left[0].Fields)
}

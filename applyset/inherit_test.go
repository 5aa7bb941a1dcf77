package applyset_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
)

const claimWithoutRecords = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: a
  namespace: b
  finalizers: [kubernetes.io/pvc-protection]
  ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]
  annotations: {pv.kubernetes.io/bind-completed: "yes"}
  labels: {dropped: "1", kept: "1"}
spec: {storageClassName: s, volumeName: pv-1}
`

// Adopting a claim without managedFields keeps fields of controllers, and
// removes fields of kubectl's client-side apply that the manifest does not
// have.
func TestInheritOfAnObjectWithoutManagedFields(t *testing.T) {
	for name, c := range map[string]struct {
		lastApplied string
		labels      map[string]string
	}{
		"never applied": {"", map[string]string{"dropped": "1", "kept": "1"}},
		"applied by kubectl": {
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{},"name":"a","namespace":"b","finalizers":["kubernetes.io/pvc-protection"],"labels":{"dropped":"1","kept":"1"}},"spec":{"storageClassName":"s"}}`,
			map[string]string{"kept": "1"},
		},
		"applied with what is no JSON": {`{`, map[string]string{"dropped": "1", "kept": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			live := parse(t, claimWithoutRecords)
			if c.lastApplied != "" {
				live.SetAnnotations(map[string]string{"pv.kubernetes.io/bind-completed": "yes", "kubectl.kubernetes.io/last-applied-configuration": c.lastApplied})
			}
			desired := marked(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, namespace: b, labels: {kept: "1"}}
spec: {storageClassName: s}
`)
			adopted := adopt(t, live, desired)
			require.Equal(t, []string{"kubernetes.io/pvc-protection"}, adopted.GetFinalizers())
			require.Len(t, adopted.GetOwnerReferences(), 1)
			require.Equal(t, map[string]any{"storageClassName": "s", "volumeName": "pv-1"}, adopted.Object["spec"])
			require.Equal(t, c.labels, adopted.GetLabels())
			require.Contains(t, adopted.GetAnnotations(), "pv.kubernetes.io/bind-completed")
			require.NotContains(t, adopted.GetAnnotations(), "kubectl.kubernetes.io/last-applied-configuration")
			require.False(t, applyset.MigrateOwnership(adopted, "ordapply", beforeFirst).Changes, "that is done once")

			// Fields that the manifest has now and drops later are removed.
			later := adopt(t, adopted, marked(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: b}, spec: {storageClassName: s}}"))
			require.NotContains(t, later.GetLabels(), "kept")
			require.Equal(t, []string{"kubernetes.io/pvc-protection"}, later.GetFinalizers())
		})
	}
}

func beforeFirst(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) *fieldpath.Set {
	if entry.Manager == applyset.BeforeFirstApply || entry.Manager == "former" {
		return fields
	}
	return nil
}

// adopt applies an object as a run does: once, and again if field ownership
// migrated.
func adopt(t *testing.T, live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	f := managedfieldstest.NewFakeFieldManager(managedfields.NewDeducedTypeConverter(), schema.GroupVersionKind{Version: "v1", Kind: desired.GetKind()})
	after, err := f.Apply(live, desired.DeepCopy(), "ordapply", true)
	require.NoError(t, err)
	out := after.(*unstructured.Unstructured)
	in := applyset.MigrateOwnership(out, "ordapply", beforeFirst)
	if !in.Changes {
		return out
	}
	out.SetManagedFields(in.Entries)
	after, err = f.Apply(out, desired.DeepCopy(), "ordapply", false)
	require.NoError(t, err)
	return after.(*unstructured.Unstructured)
}

// Fields of an entry in another API version migrate if the object has them
// under the same name; others remain with the entry.
func TestInheritOfAnotherVersion(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, version, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: version, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	live := parse(t, "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, labels: {old: x}, finalizers: [f]}, spec: {maxReplicas: 3, minReplicas: 1}}")
	former := entry("former", "Update", "autoscaling/v1",
		`{"f:metadata":{"f:labels":{"f:old":{}},"f:finalizers":{"v:\"f\"":{}}},"f:spec":{"f:maxReplicas":{},"f:targetCPUUtilizationPercentage":{}}}`)
	own := entry("ordapply", "Apply", "autoscaling/v2", `{"f:spec":{"f:minReplicas":{}}}`)
	controller := entry("controller", "Update", "autoscaling/v2", `{"f:spec":{"f:metrics":{}}}`)
	owned := func(in applyset.OwnershipMigration, manager string) string {
		i := slices.IndexFunc(in.Entries, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
		require.GreaterOrEqual(t, i, 0, manager)
		var fields any
		require.NoError(t, json.Unmarshal(in.Entries[i].FieldsV1.GetRawBytes(), &fields))
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		return in.Entries[i].APIVersion + " " + string(text)
	}
	for name, entries := range map[string][]metav1.ManagedFieldsEntry{
		"beside its own": {former, own, controller}, "as its own": {former, controller},
	} {
		t.Run(name, func(t *testing.T) {
			live.SetManagedFields(entries)
			in := applyset.MigrateOwnership(live, "ordapply", beforeFirst)
			require.True(t, in.Changes)
			ours := `{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:maxReplicas":{}}}`
			if len(entries) == 3 {
				ours = `{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:maxReplicas":{},"f:minReplicas":{}}}`
			}
			require.Equal(t, "autoscaling/v2 "+ours, owned(in, "ordapply"))
			require.Equal(t, `autoscaling/v1 {"f:metadata":{"f:finalizers":{"v:\"f\"":{}}},"f:spec":{"f:targetCPUUtilizationPercentage":{}}}`, owned(in, "former"))
			require.Equal(t, "autoscaling/v2 "+`{"f:spec":{"f:metrics":{}}}`, owned(in, "controller"))
			live.SetManagedFields(in.Entries)
			require.False(t, applyset.MigrateOwnership(live, "ordapply", beforeFirst).Changes, "that is done once")
		})
	}
}

// An entry that cannot be parsed is removed, and one of a subresource is kept.
func TestInheritOfUnusualEntries(t *testing.T) {
	live := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "former", Operation: "Update", APIVersion: "v1"},
		{Manager: "former", Operation: "Update", APIVersion: "v1", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
	})
	in := applyset.MigrateOwnership(live, "ordapply", beforeFirst)
	require.True(t, in.Changes)
	require.Len(t, in.Entries, 1)
	require.Equal(t, "status", in.Entries[0].Subresource)
}

package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
)

// difference is one value in which the two sides differ. An absent value is nil.
type difference struct {
	what         aspect
	path         path
	ours, theirs any
}

// aspect is a kind of difference.
type aspect string

const (
	refused aspect = "refused" // by one of the tools
	stored  aspect = "stored"  // the value of a field
	owned   aspect = "owned"   // whether the applier, or another manager, owns a field
	written aspect = "written" // by one of the tools, when the same manifest is applied again
)

func (d difference) String() string {
	if d.what == refused || d.what == written {
		return fmt.Sprintf("%s: ordapply %v, kubectl %v", d.what, d.ours, d.theirs)
	}
	return fmt.Sprintf("%s %s: ordapply %s, kubectl %s", d.what, d.path, shown(d.ours), shown(d.theirs))
}

func shown(value any) string {
	if value == nil {
		return "-"
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// compare returns the differences between two live objects of a manifest.
func compare(manifest map[string]any, ours, theirs *unstructured.Unstructured) []difference {
	if ours == nil || theirs == nil {
		if ours == nil && theirs == nil {
			return nil
		}
		return []difference{{what: stored, ours: ours != nil, theirs: theirs != nil}}
	}
	differences := compareValues(nil, comparable(manifest, ours), comparable(manifest, theirs))
	return append(differences, compareOwners(ours, theirs)...)
}

// compareValues returns the values that differ, as deep as maps and lists of one length
// go.
func compareValues(at path, a, b any) []difference {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok {
			break
		}
		var all []difference
		names := maps.Clone(left)
		maps.Copy(names, right)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			l, has := left[name]
			r, theirs := right[name]
			below := append(slices.Clone(at), name)
			switch {
			case has && theirs:
				all = append(all, compareValues(below, l, r)...)
			case has:
				all = append(all, difference{stored, below, present{l}, nil})
			default:
				all = append(all, difference{stored, below, nil, present{r}})
			}
		}
		return all
	case []any:
		right, ok := b.([]any)
		if !ok || len(left) != len(right) {
			break
		}
		var all []difference
		for i := range left {
			all = append(all, compareValues(append(slices.Clone(at), i), left[i], right[i])...)
		}
		return all
	}
	return []difference{{stored, at, present{a}, present{b}}}
}

// present is the value of a field that exists, which may be null.
type present struct{ value any }

func (p present) MarshalJSON() ([]byte, error) { return json.Marshal(p.value) }

// comparable returns a live object without fields that always differ between clusters.
func comparable(manifest map[string]any, live *unstructured.Unstructured) map[string]any {
	data, _ := json.Marshal(live.Object)
	data = bytes.ReplaceAll(data, []byte(live.GetUID()), []byte("UID"))
	o := &unstructured.Unstructured{}
	_ = json.Unmarshal(data, &o.Object)
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	annotations := o.GetAnnotations()
	delete(annotations, applyset.AppliedAnnotation)
	o.SetAnnotations(annotations)
	if metadata, ok := o.Object["metadata"].(map[string]any); ok && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	switch o.GetKind() {
	case "CustomResourceDefinition", "APIService": // written later, by the API server itself
		delete(o.Object, "status")
	case "PersistentVolume":
		unstructured.RemoveNestedField(o.Object, "status", "lastPhaseTransitionTime")
	case "Namespace":
		unstructured.RemoveNestedField(o.Object, "metadata", "labels", "kubernetes.io/metadata.name")
	case "Service":
		maskAllocated(manifest, o.Object)
	}
	return o.Object
}

// maskAllocated replaces allocated values of a Service by a word.
func maskAllocated(manifest, service map[string]any) {
	spec, _ := service["spec"].(map[string]any)
	for _, field := range []string{"clusterIP", "healthCheckNodePort"} {
		if value, has := spec[field]; has && value != "None" && value != "" {
			spec[field] = "allocated"
		}
	}
	if addresses, ok := spec["clusterIPs"].([]any); ok && !slices.Contains(addresses, any("None")) {
		spec["clusterIPs"] = len(addresses)
	}
	wanted, _ := json.Marshal(manifest)
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		port, _ := port.(map[string]any)
		if number, has := port["nodePort"]; has && !strings.Contains(string(wanted), fmt.Sprintf(`"nodePort":%v`, number)) {
			port["nodePort"] = "allocated"
		}
	}
}

// compareOwners returns the fields that only one side's managers own.
func compareOwners(ours, theirs *unstructured.Unstructured) []difference {
	a, b := owners(ours), owners(theirs)
	names := maps.Clone(a)
	maps.Copy(names, b)
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left, right := a[name], b[name]
		if left == nil {
			left = &fieldpath.Set{}
		}
		if right == nil {
			right = &fieldpath.Set{}
		}
		left.Difference(right).Leaves().Iterate(func(p fieldpath.Path) {
			all = append(all, difference{owned, path{name + p.String()}, true, nil})
		})
		right.Difference(left).Leaves().Iterate(func(p fieldpath.Path) {
			all = append(all, difference{owned, path{name + p.String()}, nil, true})
		})
	}
	return all
}

// owners returns the fields of each manager, but for our own annotation. The manager of
// both tools is called applier.
func owners(live *unstructured.Unstructured) map[string]*fieldpath.Set {
	sets := map[string]*fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		manager := entry.Manager
		if manager == "kube-apiserver" { // statuses that it writes later, of a CRD and of an APIService
			continue
		}
		if entry.Operation == metav1.ManagedFieldsOperationApply && (manager == "ordapply" || manager == "kubectl") {
			manager = "applier"
		}
		set := &fieldpath.Set{}
		if entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		name := strings.TrimSpace(strings.Join([]string{manager, string(entry.Operation), entry.APIVersion, entry.Subresource}, " "))
		sets[name+" "] = set.Difference(appliedAnnotation())
	}
	return sets
}

// appliedAnnotation returns the field that ordapply adds to its manifests.
func appliedAnnotation() *fieldpath.Set {
	annotations := fieldpath.MakePathOrDie("metadata", "annotations")
	return fieldpath.NewSet(annotations, append(slices.Clone(annotations), fieldpath.MakePathOrDie(applyset.AppliedAnnotation)...))
}

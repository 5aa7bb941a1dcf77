package health

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/object"
)

// Column is a printer column of a CRD, as kubectl get shows it.
type Column struct {
	Name, Type string // "Ready", "string"
	Path       string // .status.conditions[?(@.type=="Ready")].status
}

// ColumnsOf returns the printer columns of each version that a CRD defines,
// also of versions without columns.
func ColumnsOf(crd *unstructured.Unstructured) map[schema.GroupVersionKind][]Column {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	columns := map[schema.GroupVersionKind][]Column{}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		list, _ := version["additionalPrinterColumns"].([]any)
		gvk := schema.GroupVersionKind{Group: group, Version: name, Kind: kind}
		columns[gvk] = nil
		for _, c := range list {
			column, _ := c.(map[string]any)
			var read Column
			read.Name, _ = column["name"].(string)
			read.Type, _ = column["type"].(string)
			read.Path, _ = column["jsonPath"].(string)
			columns[gvk] = append(columns[gvk], read)
		}
	}
	return columns
}

// definition is a CRD's description of a kind's status.
type definition struct {
	columns []Column
	status  bool // a status is expected
}

// Learn stores the printer columns of a CRD, as of one that a run has applied, and whether
// its kind has a status. The columns are used if ColumnsOf returns nil.
func (a *Assessor) Learn(crd *unstructured.Unstructured) {
	described := statusesIn(crd)
	for gvk, columns := range ColumnsOf(crd) {
		status := described[gvk.Version] || slices.ContainsFunc(columns, func(c Column) bool { return strings.HasPrefix(c.Path, ".status") })
		a.learned.Store(gvk, definition{columns, status})
	}
}

// statusesIn returns the versions of a CRD whose objects have a status: a subresource, or a
// field of the schema. Controllers of older kinds write the field without the subresource.
func statusesIn(crd *unstructured.Unstructured) map[string]bool {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	described := map[string]bool{}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		_, subresource, _ := unstructured.NestedFieldNoCopy(version, "subresources", "status")
		_, field, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties", "status")
		described[name] = subresource || field
	}
	return described
}

// ExpectsStatus reports whether the CRD of a kind, as far as it is learned, describes a
// status, with or without the subresource.
func (a *Assessor) ExpectsStatus(gvk schema.GroupVersionKind) bool { return a.definitionOf(gvk).status }

func (a *Assessor) definitionOf(gvk schema.GroupVersionKind) definition {
	learned, _ := a.learned.Load(gvk)
	known, _ := learned.(definition)
	return known
}

// MissesDefinition reports whether the CRD of a kind, which is not known, might help with an
// assessment: it comes from the generic reading of a status, which printer columns improve,
// or there is no status and no subresource for one.
func (a *Assessor) MissesDefinition(obj *unstructured.Unstructured, given Assessment, subresource bool) bool {
	gvk := obj.GroupVersionKind()
	if _, known := a.learned.Load(gvk); known || object.IsNative(gvk.Group) {
		return false
	}
	if given.NoStatus || given.Rule == withoutStatus {
		return !subresource
	}
	return (given.Rule == "generic" || given.Rule == "kstatus") && (a.ColumnsOf == nil || a.ColumnsOf(gvk) == nil)
}

// columnsOf returns the printer columns of a kind, or nil.
func (a *Assessor) columnsOf(gvk schema.GroupVersionKind) []Column {
	if a.ColumnsOf != nil {
		if columns := a.ColumnsOf(gvk); columns != nil {
			return columns
		}
	}
	return a.definitionOf(gvk).columns
}

// isState reports whether a column shows the state of an object, by its name.
func (c Column) isState() bool {
	names := []string{"ready", "status", "state", "phase", "health"}
	return strings.HasPrefix(c.Path, ".status") && (c.Type == "string" || c.Type == "boolean" || c.Type == "") &&
		slices.Contains(names, strings.ToLower(c.Name))
}

// stateColumns returns the columns that show the state of an object, with their values.
func stateColumns(obj *unstructured.Unstructured, columns []Column) []status.Column {
	var found []status.Column
	for _, c := range columns {
		if !c.isState() {
			continue
		}
		if path, err := condition.ParseJSONPath(c.Path); err == nil { // kubectl would not show it either
			found = append(found, status.Column{Name: c.Name, Path: c.Path, Values: path.Find(obj.Object)})
		}
	}
	return found
}

package health

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/jsonpath"
	"github.com/ordapply/ordapply/internal/statusreader"
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

// Learn stores the printer columns of a CRD, as of one that a run has applied.
// They are used if ColumnsOf returns nil.
func (a *Assessor) Learn(crd *unstructured.Unstructured) {
	for gvk, columns := range ColumnsOf(crd) {
		a.learned.Store(gvk, columns)
	}
}

// MissesColumns reports whether an assessment comes from the generic reading of
// a status while the printer columns of the kind, which might help, are not
// known.
func (a *Assessor) MissesColumns(obj *unstructured.Unstructured, given Assessment) bool {
	gvk := obj.GroupVersionKind()
	if given.NoStatus || given.Rule != "generic" && given.Rule != "kstatus" || object.IsNative(gvk.Group) {
		return false
	}
	_, known := a.learned.Load(gvk)
	return !known && (a.ColumnsOf == nil || a.ColumnsOf(gvk) == nil)
}

// columnsOf returns the printer columns of a kind, or nil.
func (a *Assessor) columnsOf(gvk schema.GroupVersionKind) []Column {
	if a.ColumnsOf != nil {
		if columns := a.ColumnsOf(gvk); columns != nil {
			return columns
		}
	}
	learned, _ := a.learned.Load(gvk)
	columns, _ := learned.([]Column)
	return columns
}

// isState reports whether a column shows the state of an object, by its name.
func (c Column) isState() bool {
	names := []string{"ready", "status", "state", "phase", "health"}
	return strings.HasPrefix(c.Path, ".status") && (c.Type == "string" || c.Type == "boolean" || c.Type == "") &&
		slices.Contains(names, strings.ToLower(c.Name))
}

// stateColumns returns the columns that show the state of an object, with their values.
func stateColumns(obj *unstructured.Unstructured, columns []Column) []statusreader.Column {
	var found []statusreader.Column
	for _, c := range columns {
		if !c.isState() {
			continue
		}
		if path, err := jsonpath.Parse(c.Path); err == nil { // kubectl would not show it either
			found = append(found, statusreader.Column{Name: c.Name, Path: c.Path, Values: path.Find(obj.Object)})
		}
	}
	return found
}

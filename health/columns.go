package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Column is a printer column of a CustomResourceDefinition: what kubectl get
// shows of an object.
type Column struct {
	Name, Type string // READY, string
	Path       string // .status.conditions[?(@.type=="Ready")].status
}

// ColumnsOf gives the printer columns that a CustomResourceDefinition names for
// each version of its kind; a version without any is there too.
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

// Learn takes the printer columns of the kinds that a CustomResourceDefinition
// defines. What it has learned counts where ColumnsOf gives none.
func (a *Assessor) Learn(crd *unstructured.Unstructured) {
	for gvk, columns := range ColumnsOf(crd) {
		a.learned.Store(gvk, columns)
	}
}

// MissesColumns reports whether an assessment of an object comes from the generic
// reading of its status, and the printer columns of its kind, which might say more,
// are not known.
func (a *Assessor) MissesColumns(obj *unstructured.Unstructured, given Assessment) bool {
	gvk := obj.GroupVersionKind()
	if given.NoStatus || given.Rule != "generic" && given.Rule != "kstatus" || IsNative(gvk.Group) {
		return false
	}
	_, known := a.learned.Load(gvk)
	return !known && (a.ColumnsOf == nil || a.ColumnsOf(gvk) == nil)
}

// columnsOf are the printer columns of a kind, as far as they are known.
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

// columns reads the fields that the columns of the kind name as the state of an
// object. Such a field speaks for all of it, whatever its name and place are.
func (r *reading) columns(object map[string]any, columns []Column) {
	for _, c := range columns {
		if !c.isState() {
			continue
		}
		path, err := parseJSONPath(c.Path)
		if err != nil {
			continue // kubectl would not show it either
		}
		found := path.find(object)
		if len(found) == 0 && strings.EqualFold(c.Name, "ready") {
			r.add(sign{means: busy, rank: mild, text: fmt.Sprintf("column %s (%s) is still empty", c.Name, c.Path)})
		}
		if len(found) == 1 {
			r.column(c, found[0])
		}
	}
}

// column reads the value of a column. One that is well weighs as much as a Ready.
func (r *reading) column(c Column, value any) {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case bool:
		text = fmt.Sprint(value)
	}
	s := sign{means: r.phrase(text), rank: certain, text: fmt.Sprintf("column %s is %s", c.Name, text)}
	s.degraded = lastWord(text) == "degraded"
	switch {
	case text == "":
		return
	case isUndone(text):
		s.means = trouble
	case s.means == good:
		s.rank = mild
	case s.means == silent && r.asked[strings.ToLower(text)]:
		s.means, s.rank = good, mild
	case s.means == silent && !isParticiple(lastWord(text)) && isName(text):
		s = sign{means: busy, rank: mild, text: s.text, hint: ", which may or may not mean ready"}
	}
	r.add(s)
}

// isState reports whether people read a column to see how an object is.
func (c Column) isState() bool {
	names := []string{"ready", "status", "state", "phase", "health"}
	return strings.HasPrefix(c.Path, ".status") && (c.Type == "string" || c.Type == "boolean" || c.Type == "") &&
		slices.Contains(names, strings.ToLower(c.Name))
}

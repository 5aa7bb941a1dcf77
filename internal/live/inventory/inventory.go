// Package inventory reads the records of other tools about the objects that they applied: a
// Helm release, a kapp app, an inventory of kpt live and cli-utils, a Flux Kustomization, an
// Argo CD Application. Their objects name the record that they belong to:
//
//	for _, ref := range inventory.RefsOf(live) {
//		found, err := inventory.Read(ctx, cluster, ref) // nil if there is no such record
//	}
package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Ref names the record of another tool.
type Ref struct {
	Tool            Tool
	Namespace, Name string
}

// Tool is a tool that keeps a record of the objects that it applied.
type Tool string

// The tools.
const (
	Kubectl  Tool = "kubectl"
	Helm     Tool = "helm"
	Kapp     Tool = "kapp"
	Kpt      Tool = "kpt"
	Flux     Tool = "flux"
	FluxHelm Tool = "fluxhelm" // its Objects are the Helm release's
	ArgoCD   Tool = "argocd"
)

// Inventory is the record of another tool.
type Inventory struct {
	Ref
	Title   string // for people: "Helm release shop/web"
	Objects []object.ID
	Hooks   []object.ID // Helm's hooks, which are not among Objects
	// Elsewhere is true of a record that the cluster does not have: the tool may apply its
	// objects from another cluster. It has no Objects.
	Elsewhere bool
	// Stop is empty if the tool applies its objects only when a person runs it.
	Stop Remedy
	// Forget is empty if the tool neither applies nor deletes objects taken over by another.
	Forget Remedy
}

// Remedy is the action of a person about a tool.
type Remedy struct {
	Why string // "it is not suspended …"
	Do  string // "run kubectl patch …"
}

// tools returns how each tool marks its objects, and how its record is read.
func tools() map[Tool]tool {
	return map[Tool]tool{
		Kubectl:  {refOfKubectl, readKubectl},
		Helm:     {refOfHelm, readHelm},
		Kapp:     {refOfKapp, readKapp},
		Kpt:      {refOfKpt, readKpt},
		Flux:     {refOfFlux, readFlux},
		FluxHelm: {refOfFluxHelm, readFluxHelm},
		ArgoCD:   {refOfArgoCD, readArgoCD},
	}
}

type tool struct {
	refOf func(live *unstructured.Unstructured) (namespace, name string) // no name: the object is not marked
	read  func(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error)
}

// RefsOf returns the records that a live object says it belongs to, sorted.
func RefsOf(live *unstructured.Unstructured) []Ref {
	var refs []Ref
	for name, t := range tools() {
		if ns, record := t.refOf(live); (Ref{name, ns, record}).isValid() {
			refs = append(refs, Ref{name, ns, record})
		}
	}
	slices.SortFunc(refs, compare)
	return refs
}

// isValid reports whether a reference can be a record's: annotations may contain anything, also
// a valid selector, or one that the API server refuses.
func (r Ref) isValid() bool {
	named := r.Name != "" && len(validation.IsValidLabelValue(r.Name)) == 0
	placed := len(validation.IsDNS1123Label(r.Namespace)) == 0
	switch r.Tool {
	case Kapp, Kpt: // found by a label in all namespaces
		return named && r.Namespace == ""
	case ArgoCD: // no namespace: in Argo CD's own
		return len(validation.IsDNS1123Subdomain(r.Name)) == 0 && (placed || r.Namespace == "")
	}
	return named && placed
}

// RefsOfAll returns the records that live objects say they belong to, each once, sorted.
func RefsOfAll(live map[object.ID]*unstructured.Unstructured) []Ref {
	return slices.SortedFunc(maps.Keys(naming(live)), compare)
}

// naming returns the records that live objects say they belong to, each with one of the objects.
func naming(live map[object.ID]*unstructured.Unstructured) map[Ref]object.ID {
	all := map[Ref]object.ID{}
	for _, id := range slices.SortedFunc(maps.Keys(live), object.Compare) {
		for _, ref := range RefsOf(live[id]) {
			if _, known := all[ref]; !known {
				all[ref] = id
			}
		}
	}
	return all
}

func compare(a, b Ref) int { return strings.Compare(a.String(), b.String()) }

// String returns the reference as Parse reads it.
func (r Ref) String() string { return string(r.Tool) + "/" + r.Namespace + "/" + r.Name }

// Parse reads a reference; false if it is none.
func Parse(text string) (Ref, bool) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 || parts[2] == "" {
		return Ref{}, false
	}
	ref := Ref{Tool(parts[0]), parts[1], parts[2]}
	_, known := tools()[ref.Tool]
	return ref, known && ref.isValid()
}

// Marks reports whether a live object says that it belongs to the record.
func (r Ref) Marks(live *unstructured.Unstructured) bool { return slices.Contains(RefsOf(live), r) }

// Read reads a record; nil if there is none.
func Read(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	found, err := tools()[ref.Tool].read(ctx, cluster, ref)
	if err != nil {
		return nil, fmt.Errorf("%s, which cannot be read: %w", ref, err)
	}
	return found, nil
}

// Of returns the records that live objects name, of these tools or of all, and that name one of
// these objects, or are elsewhere. A mark on an object is a claim of any writer of the object.
// The error joins the errors of unreadable records.
func Of(ctx context.Context, cluster kube.Reads, live map[object.ID]*unstructured.Unstructured, only ...Tool) ([]Inventory, error) {
	var out []Inventory
	var errs []error
	marked := naming(live)
	for _, ref := range slices.SortedFunc(maps.Keys(marked), compare) {
		if len(only) > 0 && !slices.Contains(only, ref.Tool) {
			continue
		}
		found, err := Read(ctx, cluster, ref)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s names %w: repair that, or remove the name from the object", marked[ref], err))
		} else if found != nil && (found.Elsewhere || found.names(live)) {
			out = append(out, *found)
		}
	}
	return out, errors.Join(errs...)
}

// names reports whether a record names one of these objects, and that object names the record.
func (i Inventory) names(live map[object.ID]*unstructured.Unstructured) bool {
	return slices.ContainsFunc(i.Objects, func(id object.ID) bool { return live[id] != nil && i.Marks(live[id]) })
}

// Left returns the live objects that still say that they belong to the record, except known
// ones.
func (i Inventory) Left(ctx context.Context, cluster kube.Reads, known func(object.ID) bool) (map[object.ID]*unstructured.Unstructured, error) {
	left := map[object.ID]*unstructured.Unstructured{}
	for _, id := range i.Objects {
		if known(id) {
			continue
		}
		live, err := get(ctx, cluster, id)
		if err != nil {
			return nil, fmt.Errorf("read %s, which %s contains: %w", id, i.Title, err)
		}
		if live != nil && live.GetDeletionTimestamp() == nil && i.Marks(live) {
			left[id] = live
		}
	}
	return left, nil
}

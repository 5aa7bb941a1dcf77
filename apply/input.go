package apply

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Input is one manifest and where it came from.
type Input struct {
	Object *unstructured.Unstructured
	Source string
	Chart  string // path of the Helm chart it was rendered from; "" when nobody knows
	// CRDFolder says that it is of a chart's folder crds, which Helm installs before
	// all hooks.
	CRDFolder bool
	Text      []byte // the document as it stood; nil when it was not one
	// Elsewhere says that the object is left out: others may wait for it.
	Elsewhere bool
	// Hook says that the object is no part of the plan: it is run around it.
	Hook bool
}

// Scope says which namespace objects go to.
type Scope struct {
	Namespace string // for namespaced objects that name none
	Enforce   bool   // refuse objects that name another
	// Kind tells what the cluster serves; nil without a cluster.
	Kind func(schema.GroupVersionKind) (Kind, bool)
}

// Stream is a set of manifests that is ready to be planned and applied: each
// with its real namespace, under IDs that differ.
type Stream struct {
	Resources []ordering.Resource
	Objects   map[object.ID]*unstructured.Unstructured
	// Elsewhere are those that are left out.
	Elsewhere []ordering.Resource
	// Hooks are those that run around the plan, in the order of the inputs. Two of
	// them may have the same ID.
	Hooks []ordering.Resource
	// BeforeHooks are the resources of a chart's folder crds.
	BeforeHooks map[object.ID]bool

	kind     func(schema.GroupVersionKind) (Kind, bool) // of the Scope
	unplaced []object.ID                                // cluster-scoped ones that named a namespace
}

// Plan plans the stream. What it waits for of that which is left out, it waits
// for in the cluster.
func (s *Stream) Plan(options ordering.Options) (*ordering.Plan, error) {
	plan, err := ordering.Build(s.Resources, s.options(options))
	if err != nil {
		return nil, err
	}
	plan.Notes = append(s.Notes(), plan.Notes...)
	return plan, nil
}

// Vet looks for all that is wrong or doubtful with the stream.
func (s *Stream) Vet(options ordering.Options) []ordering.Finding {
	found := ordering.Vet(s.Resources, s.options(options))
	for _, note := range s.Notes() {
		found = append(found, ordering.Finding{Text: note})
	}
	return found
}

func (s *Stream) options(options ordering.Options) ordering.Options {
	options.Elsewhere = s.Elsewhere
	if s.kind != nil {
		options.Serves = func(m object.Meta) bool {
			_, served := s.kind(schema.GroupVersionKind{Group: m.Group, Version: m.Version, Kind: m.Kind})
			return served
		}
	}
	return options
}

// Notes are remarks for people on what NewStream changed.
func (s *Stream) Notes() []string {
	if len(s.unplaced) == 0 {
		return nil
	}
	const examples = 3
	all := slices.SortedFunc(slices.Values(s.unplaced), object.Compare)
	var names []string
	for _, id := range all[:min(examples, len(all))] {
		names = append(names, id.String())
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return []string{"metadata.namespace is left out where the kind is cluster-scoped: " + strings.Join(names, ", ")}
}

// NewStream gives every namespaced object its namespace, as kubectl does, takes it
// from those that are cluster-scoped, as the API server does, and refuses two
// objects of one ID whose contents differ. All faults are reported at once; the
// stream then holds every object, so that more can be said of it. The inputs'
// objects are not changed.
func NewStream(inputs []Input, scope Scope) (*Stream, error) {
	s := &Stream{Objects: make(map[object.ID]*unstructured.Unstructured, len(inputs)), BeforeHooks: map[object.ID]bool{}, kind: scope.Kind}
	crds := streamScopes(inputs)
	sources := map[object.ID]string{}
	var errs []error
	for _, in := range inputs {
		obj := withOwnMetadata(in.Object)
		if err := scope.place(obj, crds); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", in.Source, err)) // others that name it are right
		}
		if _, err := ownTimeout(obj); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", in.Source, obj.GetKind(), obj.GetName(), err))
		}
		r := ordering.Resource{Meta: Meta(obj), Object: obj.Object, Source: in.Source, Chart: in.Chart}
		if in.Hook {
			if !in.Elsewhere {
				s.Hooks = append(s.Hooks, r)
			}
			continue
		}
		if in.Elsewhere {
			s.Elsewhere = append(s.Elsewhere, r)
			continue
		}
		if twin, ok := s.Objects[r.ID]; ok {
			if !reflect.DeepEqual(twin.Object, obj.Object) {
				errs = append(errs, fmt.Errorf("%s: %s was already given by %s, with other contents: keep one of them", in.Source, r.ID, sources[r.ID]))
			}
			continue
		}
		if in.Object.GetNamespace() != "" && r.Namespace == "" {
			s.unplaced = append(s.unplaced, r.ID)
		}
		if in.CRDFolder {
			s.BeforeHooks[r.ID] = true
		}
		s.Resources = append(s.Resources, r)
		s.Objects[r.ID], sources[r.ID] = obj, in.Source
	}
	return s, errors.Join(errs...)
}

// withOwnMetadata is an object that shares all but its metadata with another.
func withOwnMetadata(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		out.Object["metadata"] = maps.Clone(metadata)
	}
	return out
}

// place sets the namespace of one object.
func (s Scope) place(obj *unstructured.Unstructured, crds map[schema.GroupKind]bool) error {
	namespaced, known := s.namespaced(obj.GroupVersionKind(), crds)
	given := obj.GetNamespace()
	name := obj.GetKind() + " " + obj.GetName()
	switch {
	case !known:
	case !namespaced && given != "":
		obj.SetNamespace("")
	case namespaced && given == "":
		obj.SetNamespace(s.Namespace)
	case namespaced && s.Enforce && given != s.Namespace:
		return fmt.Errorf("%s: metadata.namespace %q is not the namespace %q asked for with --namespace", name, given, s.Namespace)
	}
	return nil
}

// namespaced tells whether objects of a kind live in a namespace: the stream's
// own CRD knows best, then the cluster, then Kubernetes' own kinds.
func (s Scope) namespaced(gvk schema.GroupVersionKind, crds map[schema.GroupKind]bool) (namespaced, known bool) {
	if namespaced, known = crds[gvk.GroupKind()]; known {
		return namespaced, true
	}
	if s.Kind == nil {
		return !clusterScoped(gvk.GroupKind()), true
	}
	kind, known := s.Kind(gvk)
	return kind.Namespaced, known
}

// streamScopes reads the scopes of the kinds that the stream's CRDs define.
func streamScopes(inputs []Input) map[schema.GroupKind]bool {
	scopes := map[schema.GroupKind]bool{}
	for _, in := range inputs {
		for _, kind := range definedKinds(in.Object) {
			scope, _, _ := unstructured.NestedString(in.Object.Object, "spec", "scope")
			scopes[kind.GroupKind()] = scope == "Namespaced"
		}
	}
	return scopes
}

// Meta is what selection and ordering read of an object.
func Meta(obj *unstructured.Unstructured) object.Meta {
	gvk := obj.GroupVersionKind()
	return object.Meta{
		ID:          object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()},
		Version:     gvk.Version,
		Labels:      obj.GetLabels(),
		Annotations: obj.GetAnnotations(),
	}
}

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

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// Input is one manifest and its source.
type Input struct {
	Object *unstructured.Unstructured // with apiVersion, kind and metadata.name
	Source string                     // its position, for messages: "app.yaml, document 2 (line 14)"
	Chart  string                     // path of the Helm chart that it was rendered from; "" if unknown
	// CRDFolder is set for manifests of a chart's crds folder, which Helm
	// installs before all hooks.
	CRDFolder bool
	Text      []byte // the document's own text; nil when it was not a document of its own
	// Excluded excludes the object from the stream; others may wait for it
	// in the cluster.
	Excluded bool
	// Hook marks an object that runs around the plan and is not part of it.
	Hook bool
}

// Inputs returns manifests as inputs of a stream.
func Inputs(manifests []manifest.Manifest) []Input {
	inputs := make([]Input, len(manifests))
	for i, m := range manifests {
		inputs[i] = Input{Object: m.Unstructured, Source: m.Source, Chart: m.Chart, CRDFolder: m.CRDFolder, Text: m.Text}
	}
	return inputs
}

// Scope decides the namespaces of objects.
type Scope struct {
	Namespace string // for namespaced objects without one
	Enforce   bool   // reject namespaced objects with another namespace, as kubectl does with -n
	// Kind returns how the cluster serves a kind; nil without a cluster.
	Kind func(schema.GroupVersionKind) (kube.Kind, bool)
	// Deletion says that the objects are to be deleted: how long they may take to
	// become ready does not matter, and is not checked.
	Deletion bool
}

// Stream is a set of manifests that is ready to be planned and applied:
// namespaces are resolved and IDs are unique.
type Stream struct {
	Resources []ordering.Resource                      // the planned resources, in the order of the inputs
	Objects   map[object.ID]*unstructured.Unstructured // their manifests
	// Excluded are the excluded resources.
	Excluded []ordering.Resource
	// Hooks are the resources that run around the plan, in the order of the
	// inputs. Their IDs need not be unique.
	Hooks []ordering.Resource
	// BeforeHooks are the resources of charts' crds folders.
	BeforeHooks map[object.ID]bool
	// Defaulted are the resources whose namespace is the Scope's: their manifests have none.
	Defaulted map[object.ID]bool

	kind             func(schema.GroupVersionKind) (kube.Kind, bool) // of the Scope
	namespaceRemoved []object.ID                                     // cluster-scoped ones that named a namespace
	annotationsLeft  map[string][]object.ID                          // ones with an annotation that only controllers write
}

// Plan plans the stream; it sets Excluded and, with a cluster, Serves of the
// options. Dependencies that are excluded from the stream are waited for in the
// cluster. The error is planner.Build's.
func (s *Stream) Plan(options ordering.Options) (*ordering.Plan, error) {
	within := s.Within(options.OrderSource)
	plan, err := planner.Build(slices.Concat(s.Resources, within), s.PlanOptions(options))
	if err != nil {
		return nil, err
	}
	plan.TakeHooks(string(hook.Sync), func(id object.ID) bool {
		return slices.ContainsFunc(within, func(r ordering.Resource) bool { return r.ID == id })
	})
	plan.Notes = append(s.Notes(), plan.Notes...)
	return plan, nil
}

// Within returns the hooks that run with the resources of a wave, where Argo CD's annotations
// define the order.
func (s *Stream) Within(source ordering.OrderSource) []ordering.Resource {
	var out []ordering.Resource
	if source == ordering.OrderSourceArgoCD {
		all, _ := hook.Read(s.Hooks, source)
		for _, hook := range all.Of(hook.Sync) {
			out = append(out, hook.Resource)
		}
	}
	return out
}

// PlanOptions returns the options with which Plan calls planner.Build: the given ones with
// the Excluded and Hooks of the stream and, with a cluster, Serves.
func (s *Stream) PlanOptions(options ordering.Options) ordering.Options {
	options.Excluded, options.Hooks = s.Excluded, s.Hooks
	if s.kind != nil {
		options.Serves = func(m object.Meta) bool {
			_, served := s.kind(schema.GroupVersionKind{Group: m.Group, Version: m.Version, Kind: m.Kind})
			return served
		}
	}
	return options
}

// Notes reports the edits of manifests that their author may not expect: namespaces that
// NewStream removed, and annotations that are not sent.
func (s *Stream) Notes() []string {
	var notes []string
	if len(s.namespaceRemoved) > 0 {
		notes = append(notes, "metadata.namespace is removed from cluster-scoped resources: "+sample(s.namespaceRemoved))
	}
	if len(s.annotationsLeft) > 0 {
		var of []object.ID
		for _, ids := range s.annotationsLeft {
			of = append(of, ids...)
		}
		notes = append(notes, fmt.Sprintf("annotations that only controllers and kubectl write are not sent: %s of %s",
			strings.Join(slices.Sorted(maps.Keys(s.annotationsLeft)), ", "), sample(of)))
	}
	return notes
}

// sample names the first of some resources.
func sample(ids []object.ID) string {
	all := slices.Compact(slices.SortedFunc(slices.Values(ids), object.Compare))
	return strings.Join(plain.Sample(all, 3, "%d more", object.ID.String), ", ")
}

// NewStream sets the namespace of namespaced objects, as kubectl does,
// removes it from cluster-scoped ones, as the API server does, and rejects
// two objects with one ID and different contents. It reports all errors at
// once; the stream then still holds every object, so that further checks can
// run. The inputs' objects are not changed.
func NewStream(inputs []Input, scope Scope) (*Stream, error) {
	s := &Stream{Objects: make(map[object.ID]*unstructured.Unstructured, len(inputs)), BeforeHooks: map[object.ID]bool{}, Defaulted: map[object.ID]bool{}, kind: scope.Kind, annotationsLeft: map[string][]object.ID{}}
	crds := streamKindScopes(inputs)
	var errs []error
	for _, in := range inputs {
		obj, err := scope.placed(in.Object, crds)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", in.Source, err)) // keep it: references to it are valid
		}
		if _, err := preflight.OwnTimeout(obj); err != nil && !scope.Deletion {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", in.Source, obj.GetKind(), obj.GetName(), err))
		}
		if path, mask, found := redact.FindMask(obj); found && !scope.Deletion {
			errs = append(errs, fmt.Errorf("%s: Secret %s: %s is %q, which ordapply prints instead of the value: applied, it would replace that. To apply a stored revision, use ordapply rollback NAME --to-revision N", in.Source, obj.GetName(), path, mask))
		}
		r := ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object, Source: in.Source, Chart: in.Chart}
		if r.Name == "" && in.Hook {
			r.Name = obj.GetGenerateName()
		}
		if r.Name == "" {
			errs = append(errs, fmt.Errorf("%s: %w", in.Source, manifest.GeneratedNameError(obj)))
			continue
		}
		if in.Hook {
			if !in.Excluded {
				s.Hooks = append(s.Hooks, r)
			}
			continue
		}
		if in.Excluded {
			s.Excluded = append(s.Excluded, r)
			continue
		}
		if twin, ok := s.Objects[r.ID]; ok {
			if !reflect.DeepEqual(twin.Object, obj.Object) {
				errs = append(errs, fmt.Errorf("%s: %s is already defined in %s, with different contents: keep one of them", in.Source, r.ID, s.sourceOf(r.ID)))
			}
			continue
		}
		if in.Object.GetNamespace() != "" && r.Namespace == "" {
			s.namespaceRemoved = append(s.namespaceRemoved, r.ID)
		}
		if in.Object.GetNamespace() == "" && r.Namespace != "" {
			s.Defaulted[r.ID] = true
		}
		for _, key := range write.ControllerAnnotations(obj) {
			s.annotationsLeft[key] = append(s.annotationsLeft[key], r.ID)
		}
		if in.CRDFolder {
			s.BeforeHooks[r.ID] = true
		}
		s.Resources = append(s.Resources, r)
		s.Objects[r.ID] = obj
	}
	return s, errors.Join(errs...)
}

// sourceOf returns the source of a resource of the stream.
func (s *Stream) sourceOf(id object.ID) string {
	i := slices.IndexFunc(s.Resources, func(r ordering.Resource) bool { return r.ID == id })
	return s.Resources[i].Source
}

// withOwnMetadata returns an object that shares everything but its metadata
// with obj.
func withOwnMetadata(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		out.Object["metadata"] = maps.Clone(metadata)
	}
	return out
}

// placed returns the object with the namespace that it has in the cluster: itself if the
// manifest has that, else a copy.
func (s Scope) placed(obj *unstructured.Unstructured, crds map[schema.GroupKind]bool) (*unstructured.Unstructured, error) {
	namespaced, known := s.namespaced(obj.GroupVersionKind(), crds)
	given := obj.GetNamespace()
	switch {
	case !known:
	case !namespaced && given != "":
		obj = withOwnMetadata(obj)
		obj.SetNamespace("")
	case namespaced && given == "":
		obj = withOwnMetadata(obj)
		obj.SetNamespace(s.Namespace)
	case namespaced && s.Enforce && given != s.Namespace:
		return obj, fmt.Errorf("%s %s: metadata.namespace %q does not match the namespace %q of --namespace", obj.GetKind(), obj.GetName(), given, s.Namespace)
	}
	return obj, nil
}

// namespaced reports whether a kind is namespaced, according to the stream's
// own CRD, else the cluster, else Kubernetes' built-in kinds.
func (s Scope) namespaced(gvk schema.GroupVersionKind, crds map[schema.GroupKind]bool) (namespaced, known bool) {
	if namespaced, known = crds[gvk.GroupKind()]; known {
		return namespaced, true
	}
	if s.Kind == nil {
		return !kube.IsClusterScoped(gvk.GroupKind()), true
	}
	kind, known := s.Kind(gvk)
	return kind.Namespaced, known
}

// streamKindScopes returns, for the kinds that the stream's CRDs define, whether
// they are namespaced.
func streamKindScopes(inputs []Input) map[schema.GroupKind]bool {
	scopes := map[schema.GroupKind]bool{}
	for _, in := range inputs {
		for _, kind := range kube.DefinedKinds(in.Object) {
			scope, _, _ := unstructured.NestedString(in.Object.Object, "spec", "scope")
			scopes[kind.GroupKind()] = scope == "Namespaced"
		}
	}
	return scopes
}

package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// store is a cluster without a server, for behaviour that depends only on the
// order and time of our own requests: it stores objects, and checks after
// each write whether every member is in the kinds and namespaces of its set.
// Behaviour of an API server is tested on a real one.
type store struct {
	Cluster                              // only the methods below are called
	gone       map[schema.GroupKind]bool // kinds that are not served
	late       map[schema.GroupKind]bool // of these, those that discovery lists when it is refreshed
	unreadable map[string]bool           // groups whose server does not answer
	// refuse returns the error of a request; nil: none fails.
	refuse func(verb string, kind kube.Kind, namespace, name string) error

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	created map[string]*unstructured.Unstructured   // as Create stored them
	version map[string]int                          // number of writes; it continues when a name is used again
	log     []string                                // of writes
	unknown []string                                // members that were not covered by their set after a write
	changed chan struct{}                           // closed at the next write
	seen    map[*unstructured.Unstructured]standing // results of standingOf; the objects do not change
}

// standing is what an object says about sets.
type standing struct {
	id     object.ID
	parent *applyset.Parent // set when it is a parent
	owner  string           // the set that it is a member of; "": none
	member bool
}

// standingOf returns the standing of an object, cached.
func (s *store) standingOf(obj *unstructured.Unstructured) standing {
	known, ok := s.seen[obj]
	if ok {
		return known
	}
	known = standing{id: apply.Meta(obj).ID, owner: applyset.Owner(obj), member: len(applyset.MembershipManagers(obj)) > 0}
	if obj.GetLabels()[applyset.IDLabel] != "" {
		parent, _ := applyset.ReadParent(obj)
		known.parent = &parent
	}
	s.seen[obj] = known
	return known
}

func newStore() *store {
	return &store{
		objects: map[string]*unstructured.Unstructured{}, created: map[string]*unstructured.Unstructured{},
		version: map[string]int{}, changed: make(chan struct{}), seen: map[*unstructured.Unstructured]standing{},
	}
}

func key(kind kube.Kind, namespace, name string) string {
	return strings.Join([]string{kind.Resource.GroupResource().String(), namespace, name}, "/")
}

func (s *store) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
	return kube.Kind{Resource: resource, Namespaced: gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition", Stored: true}, !s.gone[gvk.GroupKind()] && !s.unreadable[gvk.Group]
}

func (s *store) Versions(gk schema.GroupKind) []string {
	if _, served := s.Kind(gk.WithVersion("v1")); !served {
		return nil
	}
	return []string{"v1"}
}

func (s *store) Unreadable(gv schema.GroupVersion) error {
	if s.unreadable[gv.Group] {
		return fmt.Errorf("what serves %s does not answer", gv)
	}
	return nil
}

func (s *store) AllUnreadable() []schema.GroupVersion {
	var all []schema.GroupVersion
	for group := range s.unreadable {
		all = append(all, schema.GroupVersion{Group: group, Version: "v1"})
	}
	return all
}

func (s *store) Refresh(_ context.Context, versions ...schema.GroupVersion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "discover")
	for gk := range s.late {
		if slices.ContainsFunc(versions, func(gv schema.GroupVersion) bool { return gv.Group == gk.Group }) {
			delete(s.gone, gk)
		}
	}
	return nil
}

func (s *store) NamespacedKinds() []schema.GroupVersionKind { return nil }

// StoredKinds returns the kinds of the stored objects.
func (s *store) StoredKinds() []schema.GroupVersionKind {
	s.mu.Lock()
	var kinds []schema.GroupVersionKind
	for _, obj := range s.objects {
		if gvk := obj.GroupVersionKind(); gvk.Kind != "" && !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	s.mu.Unlock()
	return slices.DeleteFunc(kinds, func(gvk schema.GroupVersionKind) bool { _, served := s.Kind(gvk); return !served })
}

func (s *store) Watch(ctx context.Context, _ kube.Kind, _ string, _ kube.Query, _ func(kube.WatchEvent)) {
	<-ctx.Done()
}

// begin starts a request; end must be called when it is done.
func (s *store) begin(verb string, kind kube.Kind, namespace, name string) (end func(), err error) {
	if s.refuse != nil {
		if err := s.refuse(verb, kind, namespace, name); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	if verb != "get" && verb != "list" {
		s.log = append(s.log, verb+" "+kind.Resource.Resource+"/"+name)
		return func() {
			s.look()
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		}, nil
	}
	return s.mu.Unlock, nil
}

// look records members that are not covered by their set.
func (s *store) look() {
	parents := map[string]applyset.Parent{}
	for _, obj := range s.objects {
		if parent := s.standingOf(obj).parent; parent != nil {
			parents[parent.SetID()] = *parent
		}
	}
	for _, obj := range s.objects {
		one := s.standingOf(obj)
		parent, kept := parents[one.owner]
		if one.member && (!kept || !parent.WithMembers([]object.ID{one.id}).Equal(parent)) {
			s.unknown = append(s.unknown, one.id.String()+" after "+s.log[len(s.log)-1])
		}
	}
}

func (s *store) put(kind kube.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	at := key(kind, obj.GetNamespace(), obj.GetName())
	s.version[at]++
	obj = obj.DeepCopy()
	obj.SetResourceVersion(strconv.Itoa(s.version[at]))
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(at + "#" + strconv.Itoa(s.version[at])))
	}
	s.objects[at] = obj
	return obj.DeepCopy()
}

func (s *store) Apply(_ context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	end, err := s.begin("apply", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	obj = obj.DeepCopy()
	at := key(kind, obj.GetNamespace(), obj.GetName())
	before := s.objects[at]
	if !met(obj, before) {
		return nil, apierrors.NewConflict(kind.Resource.GroupResource(), obj.GetName(), nil)
	}
	if before != nil {
		obj.SetUID(before.GetUID())
	}
	if base := s.created[at]; base != nil {
		wanted := obj.GetLabels()
		obj = base.DeepCopy()
		all := obj.GetLabels()
		maps.Copy(all, wanted)
		obj.SetLabels(all)
	}
	fields := `{}`
	if applyset.Owner(obj) != "" {
		fields = `{"f:metadata":{"f:labels":{"f:` + applyset.PartOfLabel + `":{}}}}`
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: o.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: obj.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}})
	return s.put(kind, obj), nil
}

// met reports whether an object fulfils the uid and resourceVersion
// preconditions of a PATCH.
func met(patch, before *unstructured.Unstructured) bool {
	if before == nil {
		return patch.GetUID() == "" && patch.GetResourceVersion() == ""
	}
	return (patch.GetUID() == "" || patch.GetUID() == before.GetUID()) &&
		(patch.GetResourceVersion() == "" || patch.GetResourceVersion() == before.GetResourceVersion())
}

func (s *store) Create(_ context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	end, err := s.begin("create", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	if s.objects[key(kind, obj.GetNamespace(), obj.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(kind.Resource.GroupResource(), obj.GetName())
	}
	live := s.put(kind, obj)
	s.created[key(kind, obj.GetNamespace(), obj.GetName())] = live
	return live, nil
}

func (s *store) Update(_ context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	end, err := s.begin("update", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	before := s.objects[key(kind, obj.GetNamespace(), obj.GetName())]
	if before == nil || before.GetResourceVersion() != obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.Resource.GroupResource(), obj.GetName(), nil)
	}
	return s.put(kind, obj), nil
}

func (s *store) Delete(_ context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	end, err := s.begin("delete", kind, live.GetNamespace(), live.GetName())
	if err != nil {
		return err
	}
	defer end()
	at := key(kind, live.GetNamespace(), live.GetName())
	switch now := s.objects[at]; {
	case now == nil:
		return apierrors.NewNotFound(kind.Resource.GroupResource(), live.GetName())
	case now.GetUID() != live.GetUID(), o.Unchanged && now.GetResourceVersion() != live.GetResourceVersion():
		return apierrors.NewConflict(kind.Resource.GroupResource(), live.GetName(), nil)
	}
	delete(s.objects, at)
	delete(s.created, at)
	return nil
}

// edit changes an object whose resourceVersion is the one that was read.
func (s *store) edit(verb string, kind kube.Kind, live *unstructured.Unstructured, change func(*unstructured.Unstructured)) error {
	end, err := s.begin(verb, kind, live.GetNamespace(), live.GetName())
	if err != nil {
		return err
	}
	defer end()
	before := s.objects[key(kind, live.GetNamespace(), live.GetName())]
	if before == nil {
		return apierrors.NewNotFound(kind.Resource.GroupResource(), live.GetName())
	}
	if before.GetResourceVersion() != live.GetResourceVersion() {
		return apierrors.NewConflict(kind.Resource.GroupResource(), live.GetName(), nil)
	}
	after := before.DeepCopy()
	change(after)
	s.put(kind, after)
	return nil
}

func (s *store) Migrate(_ context.Context, kind kube.Kind, live *unstructured.Unstructured, _ []string, manager string) error {
	return s.edit("migrate", kind, live, func(obj *unstructured.Unstructured) {
		entries := obj.GetManagedFields()
		for i := range entries {
			entries[i].Manager = manager
		}
		obj.SetManagedFields(entries)
	})
}

func (s *store) RemoveLabel(_ context.Context, kind kube.Kind, live *unstructured.Unstructured, label, _ string) error {
	return s.edit("unlabel", kind, live, func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		delete(labels, label)
		obj.SetLabels(labels)
		obj.SetManagedFields(nil)
	})
}

func (s *store) Get(_ context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	end, err := s.begin("get", kind, namespace, name)
	if err != nil {
		return nil, err
	}
	defer end()
	if live := s.objects[key(kind, namespace, name)]; live != nil {
		return live.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(kind.Resource.GroupResource(), name)
}

func (s *store) List(_ context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	end, err := s.begin("list", kind, namespace, "")
	if err != nil {
		return nil, err
	}
	defer end()
	selector, err := labels.Parse(query.Labels)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		obj := s.objects[at]
		here := strings.HasPrefix(at, kind.Resource.GroupResource().String()+"/"+namespace)
		if here && selector.Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj.DeepCopy())
		}
	}
	return found, nil
}

// at returns a copy of the object under a key, nil without one. Tests must
// not use objects directly: a Lease may be renewed at the same time.
func (s *store) at(key string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].DeepCopy()
}

// drop deletes an object, as another client might.
func (s *store) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// add stores an object, as another client might.
func (s *store) add(kind kube.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(kind, obj)
}

// members lists the objects with the label of a set, as resource/name.
func (s *store) members() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for at, obj := range s.objects {
		if applyset.Owner(obj) != "" {
			out = append(out, strings.Split(at, "/")[0]+"/"+obj.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// promise returns the kinds and namespaces of the set shop.
func (s *store) promise(t *testing.T) string {
	t.Helper()
	parent, err := s.Get(t.Context(), secretKind(), "shop", "shop")
	require.NoError(t, err)
	annotations := parent.GetAnnotations()
	return strings.TrimSpace(annotations[applyset.GroupKindsAnnotation] + " " + annotations[applyset.NamespacesAnnotation])
}

// shopSet is the set of the tests.
var shopSet = object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}

// runOf returns a run that applies objects, each as "Kind.group
// namespace/name", and prunes.
func runOf(t *testing.T, cluster *store, objects ...string) Run {
	t.Helper()
	var inputs []apply.Input
	for _, text := range objects {
		kind, where, _ := strings.Cut(text, " ")
		gk := schema.ParseGroupKind(kind)
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gk.WithVersion("v1"))
		namespace, name, _ := strings.Cut(where, "/")
		obj.SetNamespace(namespace)
		obj.SetName(name)
		inputs = append(inputs, apply.Input{Object: obj, Source: "test"})
	}
	r := runFor(t, inputs)
	r.Cluster, r.Applier.Cluster, r.Remover.Cluster = cluster, cluster, cluster
	return r
}

// runFor returns such a run without a cluster.
func runFor(t *testing.T, inputs []apply.Input) Run {
	t.Helper()
	parsed, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop"})
	require.NoError(t, err)
	plan, err := ordering.Build(parsed.Resources, ordering.Options{})
	require.NoError(t, err)
	return Run{
		Plan: plan, Stream: parsed, Prune: true,
		Parent: shopSet, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
	}
}

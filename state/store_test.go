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
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// store is a cluster without a server, for what only the order and the time of
// our own requests decide: it keeps objects, and looks after each write whether
// every member is known to its set. What an API server decides is tested on a
// real one.
type store struct {
	Cluster                              // of which no more than below is called
	gone       map[schema.GroupKind]bool // kinds that are not served
	late       map[schema.GroupKind]bool // of these, those that discovery lists when it is read again
	unreadable map[string]bool           // groups that no server answers for
	// refuse is asked before each request; nil: none is refused.
	refuse func(verb string, kind apply.Kind, namespace, name string) error

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	created map[string]*unstructured.Unstructured   // as they were, by Create
	version map[string]int                          // how often each was written; a name used again goes on counting
	log     []string                                // of writes
	unknown []string                                // members that their set did not promise, after a write
	changed chan struct{}                           // closed at the next write
	seen    map[*unstructured.Unstructured]standing // what look made of the objects; none of them changes
}

// standing is what an object says about the sets that it has to do with.
type standing struct {
	id     object.ID
	parent *applyset.Parent // it is one; nil: it is not
	owner  string           // the set that it is a member of; "": none
	member bool
}

// standingOf reads that once.
func (s *store) standingOf(obj *unstructured.Unstructured) standing {
	known, ok := s.seen[obj]
	if ok {
		return known
	}
	known = standing{id: apply.Meta(obj).ID, owner: applyset.Owner(obj), member: len(applyset.Claimants(obj)) > 0}
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

func key(kind apply.Kind, namespace, name string) string {
	return strings.Join([]string{kind.Resource.GroupResource().String(), namespace, name}, "/")
}

func (s *store) Kind(gvk schema.GroupVersionKind) (apply.Kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
	return apply.Kind{Resource: resource, Namespaced: gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition", Stored: true}, !s.gone[gvk.GroupKind()] && !s.unreadable[gvk.Group]
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

// StoredKinds are those of the objects that are there.
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

func (s *store) Watch(ctx context.Context, _ apply.Kind, _ string, _ apply.Query, _ func(apply.Change)) {
	<-ctx.Done()
}

// begin lets a request in; end is called when it is over.
func (s *store) begin(verb string, kind apply.Kind, namespace, name string) (end func(), err error) {
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

// look notes what its set does not know of.
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
		if one.member && (!kept || !parent.Widened([]object.ID{one.id}).Equal(parent)) {
			s.unknown = append(s.unknown, one.id.String()+" after "+s.log[len(s.log)-1])
		}
	}
}

func (s *store) put(kind apply.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
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

func (s *store) Apply(_ context.Context, kind apply.Kind, obj *unstructured.Unstructured, o apply.PatchOptions) (*unstructured.Unstructured, error) {
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

// met reports whether an object is there as the uid and the resourceVersion of
// a PATCH demand.
func met(patch, before *unstructured.Unstructured) bool {
	if before == nil {
		return patch.GetUID() == "" && patch.GetResourceVersion() == ""
	}
	return (patch.GetUID() == "" || patch.GetUID() == before.GetUID()) &&
		(patch.GetResourceVersion() == "" || patch.GetResourceVersion() == before.GetResourceVersion())
}

func (s *store) Create(_ context.Context, kind apply.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
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

func (s *store) Update(_ context.Context, kind apply.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
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

func (s *store) Delete(_ context.Context, kind apply.Kind, live *unstructured.Unstructured, o apply.DeleteOptions) error {
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

// edit changes an object that is still the version that was read.
func (s *store) edit(verb string, kind apply.Kind, live *unstructured.Unstructured, change func(*unstructured.Unstructured)) error {
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

func (s *store) Migrate(_ context.Context, kind apply.Kind, live *unstructured.Unstructured, _ []string, manager string) error {
	return s.edit("migrate", kind, live, func(obj *unstructured.Unstructured) {
		entries := obj.GetManagedFields()
		for i := range entries {
			entries[i].Manager = manager
		}
		obj.SetManagedFields(entries)
	})
}

func (s *store) Unlabel(_ context.Context, kind apply.Kind, live *unstructured.Unstructured, label, _ string) error {
	return s.edit("unlabel", kind, live, func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		delete(labels, label)
		obj.SetLabels(labels)
		obj.SetManagedFields(nil)
	})
}

func (s *store) Get(_ context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
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

func (s *store) List(_ context.Context, kind apply.Kind, namespace string, query apply.Query) ([]*unstructured.Unstructured, error) {
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

// at is the object that is kept under a key, nil without one. A test asks here
// and not in objects: a Lease may be renewed at the same time.
func (s *store) at(key string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].DeepCopy()
}

// drop takes an object away, as another client might.
func (s *store) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// add puts an object there, as another client might.
func (s *store) add(kind apply.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(kind, obj)
}

// members lists what says that it is one, as resource/name.
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

// promise is what the set shop says that it has.
func (s *store) promise(t *testing.T) string {
	t.Helper()
	parent, err := s.Get(t.Context(), secretKind(), "shop", "shop")
	require.NoError(t, err)
	annotations := parent.GetAnnotations()
	return strings.TrimSpace(annotations[applyset.GroupKindsAnnotation] + " " + annotations[applyset.NamespacesAnnotation])
}

// shopSet is the set that the tests are about.
var shopSet = object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}

// runOf applies objects, each as "Kind.group namespace/name", and prunes.
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

// runFor is such a run on a cluster that is still to be named.
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

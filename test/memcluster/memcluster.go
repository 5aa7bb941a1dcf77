// Package memcluster is a cluster in memory, for tests of behaviour that depends only
// on the order and time of requests.
//
//	cluster := memcluster.New()
//	cluster.Refuse = func(verb string, kind kube.Kind, namespace, name string) error { … }
//
// A Store answers at once. A Scripted is a Store in which requests take time, resources
// become ready and objects are deleted as scripts say. A Controlled is a Scripted that
// keeps applied objects, and whose controllers write statuses.
package memcluster

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Store is a cluster without a server, for behaviour that depends only on the
// order and time of our own requests: it stores objects, and checks after
// each write whether every member is in the kinds and namespaces of its set.
// Behaviour of an API server is tested on a real one.
type Store struct {
	kube.Cluster // only the methods below are called
	Discovery
	// TracksFields makes Apply record the owner of every field, which proves later that an
	// object is unchanged.
	TracksFields bool
	Faults
	ServerSide ServerSide

	Mu        sync.Mutex                                // guards the fields below
	Objects   map[string]*unstructured.Unstructured     // by Key
	Created   map[string]*unstructured.Unstructured     // as Create stored them
	Writes    map[string]int                            // number of writes; it continues when a name is used again
	Log       []string                                  // of writes
	Uncovered []string                                  // members that were not covered by their set after a write
	Changed   chan struct{}                             // closed at the next write
	seen      map[*unstructured.Unstructured]membership // results of membershipOf; the objects do not change
}

// Faults are failures of a Store's requests.
type Faults struct {
	// Refuse returns the error of a request, such as "get" or "watch"; nil: none fails. A
	// Scripted calls it for reads only.
	Refuse func(verb string, kind kube.Kind, namespace, name string) error
	// Hangs reports whether the API server never answers a request with this verb; nil:
	// it answers all.
	Hangs func(verb string) bool
}

// membership is an object's part in sets.
type membership struct {
	id     object.ID
	parent *applyset.Parent // set when it is a parent
	owner  string           // the set that it is a member of; "": none
	member bool
}

// membershipOf returns the membership of an object, cached.
func (s *Store) membershipOf(obj *unstructured.Unstructured) membership {
	known, ok := s.seen[obj]
	if ok {
		return known
	}
	known = membership{id: kube.Meta(obj).ID, owner: applyset.Owner(obj)}
	known.member = slices.ContainsFunc(applyset.MembershipManagers(obj), func(manager string) bool {
		another := strings.HasPrefix(manager, "ordapply:") && !applyset.IsManager(manager, known.owner) // it is taking it over
		return !another
	})
	if obj.GetLabels()[applyset.IDLabel] != "" {
		parent, _ := applyset.ReadParent(obj)
		known.parent = &parent
	}
	s.seen[obj] = known
	return known
}

// New returns an empty store.
func New() *Store {
	s := &Store{}
	s.start()
	return s
}

// start makes the zero value an empty store.
func (s *Store) start() {
	if s.Objects == nil {
		s.Objects, s.Created = map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
		s.Writes, s.seen = map[string]int{}, map[*unstructured.Unstructured]membership{}
		s.Changed = make(chan struct{})
	}
}

// Fenced implements kube.Cluster. A Store calls no fence.
func (s *Store) Fenced(kube.Fence) kube.Cluster { return s }

// WithOwnConnection implements kube.Cluster.
func (s *Store) WithOwnConnection() kube.Cluster { return s }

// Key returns the key of an object in Objects.
func Key(kind kube.Kind, namespace, name string) string {
	return strings.Join([]string{kind.Resource.GroupResource().String(), namespace, name}, "/")
}

// KeyOf returns the key of an object in Objects.
func KeyOf(id object.ID) string { return Key(kindOf(id), id.Namespace, id.Name) }

func kindOf(id object.ID) kube.Kind {
	return kindNamed(schema.GroupVersionKind{Group: id.Group, Version: "v1", Kind: id.Kind})
}

// kindNamed returns how a kind is served: its plural is the kind with an s.
func kindNamed(gvk schema.GroupVersionKind) kube.Kind {
	clusterScoped := gvk.Kind == "Namespace" || gvk.Kind == "CustomResourceDefinition" || gvk.Kind == "ApplySet" || strings.HasSuffix(gvk.Kind, "WebhookConfiguration")
	return kube.Kind{Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: !clusterScoped, Stored: true}
}

// Watch implements kube.Cluster: nothing changes.
func (s *Store) Watch(ctx context.Context, _ kube.Kind, _ string, _ kube.Query, _ func(kube.WatchEvent)) {
	<-ctx.Done()
}

// hang waits until ctx is done if the API server does not answer such a request.
func (s *Store) hang(ctx context.Context, verb string) error {
	if s.Hangs == nil || !s.Hangs(verb) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// begin starts a request; end must be called when it is done.
func (s *Store) begin(ctx context.Context, verb string, kind kube.Kind, namespace, name string) (end func(), err error) {
	if err := s.hang(ctx, verb); err != nil {
		return nil, err
	}
	if s.Refuse != nil {
		if err := s.Refuse(verb, kind, namespace, name); err != nil {
			return nil, err
		}
	}
	s.Mu.Lock()
	s.start()
	if verb != "get" && verb != "list" {
		s.Log = append(s.Log, verb+" "+kind.Resource.Resource+"/"+name)
		return func() {
			s.Check()
			close(s.Changed)
			s.Changed = make(chan struct{})
			s.Mu.Unlock()
		}, nil
	}
	return s.Mu.Unlock, nil
}

// Check records members that are not covered by their set.
func (s *Store) Check() {
	parents := map[string]applyset.Parent{}
	for _, obj := range s.Objects {
		if parent := s.membershipOf(obj).parent; parent != nil {
			parents[parent.SetID()] = *parent
		}
	}
	for _, obj := range s.Objects {
		one := s.membershipOf(obj)
		parent, kept := parents[one.owner]
		if one.member && (!kept || !parent.WithMembers([]object.ID{one.id}).Equal(parent)) {
			s.Uncovered = append(s.Uncovered, one.id.String()+" after "+s.Log[len(s.Log)-1])
		}
	}
}

func (s *Store) put(kind kube.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.start()
	at := Key(kind, obj.GetNamespace(), obj.GetName())
	s.Writes[at]++
	obj = obj.DeepCopy()
	obj.SetResourceVersion(strconv.Itoa(s.Writes[at]))
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(at + "#" + strconv.Itoa(s.Writes[at])))
	}
	s.Objects[at] = obj
	return obj.DeepCopy()
}

// Apply stores an object with its manager as the owner of the membership label.
func (s *Store) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, "apply", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	obj = obj.DeepCopy()
	at := Key(kind, obj.GetNamespace(), obj.GetName())
	before := s.Objects[at]
	if !met(obj, before) {
		return nil, apierrors.NewConflict(kind.Resource.GroupResource(), obj.GetName(), nil)
	}
	if s.ServerSide.On {
		after, err := s.applyServerSide(before, obj, o)
		if err != nil || o.DryRun {
			return after, err
		}
		return s.put(kind, after), nil
	}
	if before != nil {
		obj.SetUID(before.GetUID())
	}
	if base := s.Created[at]; base != nil {
		labels, annotations := base.GetLabels(), base.GetAnnotations()
		maps.Copy(labels, obj.GetLabels())
		maps.Copy(annotations, obj.GetAnnotations())
		obj = base.DeepCopy()
		obj.SetLabels(labels)
		obj.SetAnnotations(annotations)
	}
	fields := `{}`
	if s.TracksFields {
		fields = fieldsOf(obj)
		if before != nil && before.Object["status"] != nil {
			obj.Object["status"] = before.Object["status"]
		}
	} else {
		fields = marksOf(obj)
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: o.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: obj.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}})
	return s.put(kind, obj), nil
}

// marksOf returns the label of a set and the fingerprint, as far as an applied object has them,
// in the format of managedFields.
func marksOf(obj *unstructured.Unstructured) string {
	marks := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
	if owner := applyset.Owner(obj); owner != "" {
		marks.SetLabels(map[string]string{applyset.PartOfLabel: owner})
	}
	if print := obj.GetAnnotations()[applyset.AppliedAnnotation]; print != "" {
		marks.SetAnnotations(map[string]string{applyset.AppliedAnnotation: print})
	}
	return fieldsOf(marks)
}

// fieldsOf returns the fields of an applied object in the format of managedFields. A list is one
// field.
func fieldsOf(obj *unstructured.Unstructured) string {
	var set func(value any) map[string]any
	set = func(value any) map[string]any {
		fields := map[string]any{}
		children, _ := value.(map[string]any)
		for name, child := range children {
			fields["f:"+name] = set(child)
		}
		return fields
	}
	metadata := map[string]any{"annotations": obj.Object["metadata"].(map[string]any)["annotations"], "labels": obj.Object["metadata"].(map[string]any)["labels"]}
	all := map[string]any{"metadata": metadata}
	for key, value := range obj.Object {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key) {
			all[key] = value
		}
	}
	maps.DeleteFunc(metadata, func(_ string, value any) bool { return value == nil })
	text, _ := json.Marshal(set(all))
	return string(text)
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

// DryRunCreate returns the error of Refuse for a "create", or that of ServerSide's admission.
func (s *Store) DryRunCreate(_ context.Context, kind kube.Kind, obj *unstructured.Unstructured) error {
	if s.Refuse != nil {
		if err := s.Refuse("create", kind, obj.GetNamespace(), obj.GetName()); err != nil {
			return err
		}
	}
	if s.ServerSide.On {
		return s.admit(nil, obj)
	}
	return nil
}

// Create stores a new object.
func (s *Store) Create(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, "create", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	if s.Objects[Key(kind, obj.GetNamespace(), obj.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(kind.Resource.GroupResource(), obj.GetName())
	}
	live := s.put(kind, obj)
	s.Created[Key(kind, obj.GetNamespace(), obj.GetName())] = live
	return live, nil
}

// Update replaces an object of the same resourceVersion.
func (s *Store) Update(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, "update", kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	before := s.Objects[Key(kind, obj.GetNamespace(), obj.GetName())]
	if before == nil || before.GetResourceVersion() != obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.Resource.GroupResource(), obj.GetName(), nil)
	}
	return s.put(kind, obj), nil
}

// Delete deletes an object at once.
func (s *Store) Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	end, err := s.begin(ctx, "delete", kind, live.GetNamespace(), live.GetName())
	if err != nil {
		return err
	}
	defer end()
	at := Key(kind, live.GetNamespace(), live.GetName())
	if err := deletable(kind, live, s.Objects[at], o); err != nil {
		return err
	}
	delete(s.Objects, at)
	delete(s.Created, at)
	return nil
}

// deletable checks the preconditions of a DELETE of read; now is the stored object.
func deletable(kind kube.Kind, read, now *unstructured.Unstructured, o kube.DeleteOptions) error {
	switch {
	case now == nil:
		return apierrors.NewNotFound(kind.Resource.GroupResource(), read.GetName())
	case now.GetUID() != read.GetUID(), o.Unchanged && now.GetResourceVersion() != read.GetResourceVersion():
		return apierrors.NewConflict(kind.Resource.GroupResource(), read.GetName(), nil)
	}
	return nil
}

// edit changes an object whose resourceVersion is the one that was read.
func (s *Store) edit(ctx context.Context, verb string, kind kube.Kind, live *unstructured.Unstructured, change func(*unstructured.Unstructured)) (*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, verb, kind, live.GetNamespace(), live.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	before := s.Objects[Key(kind, live.GetNamespace(), live.GetName())]
	if before == nil {
		return nil, apierrors.NewNotFound(kind.Resource.GroupResource(), live.GetName())
	}
	if before.GetResourceVersion() != live.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.Resource.GroupResource(), live.GetName(), nil)
	}
	after := before.DeepCopy()
	change(after)
	return s.put(kind, after), nil
}

// Migrate makes manager the owner of all fields.
func (s *Store) Migrate(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error {
	_, err := s.edit(ctx, "migrate", kind, live, func(obj *unstructured.Unstructured) {
		if s.ServerSide.On {
			obj.SetManagedFields(migration.Entries)
			return
		}
		entries := obj.GetManagedFields()
		for i := range entries {
			entries[i].Manager = manager
		}
		obj.SetManagedFields(entries)
	})
	return err
}

// Join makes an object a member of a set, with its owners.
func (s *Store) Join(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return s.edit(ctx, "join", kind, live, func(obj *unstructured.Unstructured) {
		before := obj.DeepCopy()
		before.SetManagedFields(entries)
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[applyset.PartOfLabel] = set
		obj.SetLabels(labels)
		obj.SetManagedFields(entries)
		if s.ServerSide.On {
			obj.Object = updatedServerSide(before, obj, manager).Object
			return
		}
		label := fieldsOf(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"labels": map[string]any{applyset.PartOfLabel: set}}}})
		obj.SetManagedFields(append(slices.Clone(entries), metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: obj.GetAPIVersion(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(label),
		}))
	})
}

// Release changes the set of an object, with its owners.
func (s *Store) Release(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, owner string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return s.edit(ctx, "release", kind, live, func(obj *unstructured.Unstructured) {
		before := obj.DeepCopy()
		before.SetManagedFields(entries)
		labels, annotations := obj.GetLabels(), obj.GetAnnotations()
		delete(labels, applyset.PartOfLabel)
		delete(annotations, applyset.AppliedAnnotation)
		if owner != "" {
			labels[applyset.PartOfLabel] = owner
		}
		obj.SetLabels(labels)
		obj.SetAnnotations(annotations)
		obj.SetManagedFields(entries)
		if s.ServerSide.On {
			obj.Object = updatedServerSide(before, obj, manager).Object
		}
	})
}

// SetManagedFields replaces the managedFields of an object.
func (s *Store) SetManagedFields(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, _ string) error {
	_, err := s.edit(ctx, "managedFields", kind, live, func(obj *unstructured.Unstructured) { obj.SetManagedFields(entries) })
	return err
}

// Get returns a copy of an object.
func (s *Store) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, "get", kind, namespace, name)
	if err != nil {
		return nil, err
	}
	defer end()
	if live := s.Objects[Key(kind, namespace, name)]; live != nil {
		return live.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(kind.Resource.GroupResource(), name)
}

// List returns copies of the objects with these labels.
func (s *Store) List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	end, err := s.begin(ctx, "list", kind, namespace, "")
	if err != nil {
		return nil, err
	}
	defer end()
	selector, err := labels.Parse(query.Labels)
	if err != nil {
		return nil, err
	}
	uid, ofEvent := strings.CutPrefix(query.Fields, "involvedObject.uid=") // the only field that is selected by in a LIST
	var found []*unstructured.Unstructured
	for _, at := range slices.Sorted(maps.Keys(s.Objects)) {
		obj := s.Objects[at]
		if about, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "uid"); ofEvent && about != uid {
			continue
		}
		here := strings.HasPrefix(at, kind.Resource.GroupResource().String()+"/") && (namespace == "" || namespace == obj.GetNamespace())
		if here && selector.Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj.DeepCopy())
		}
	}
	return found, nil
}

// At returns a copy of the object under a key, nil without one. Tests must
// not use objects directly: a Lease may be renewed at the same time.
func (s *Store) At(key string) *unstructured.Unstructured {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.Objects[key].DeepCopy()
}

// Drop deletes an object, as another client might.
func (s *Store) Drop(key string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	delete(s.Objects, key)
}

// Add stores an object, as another client might.
func (s *Store) Add(kind kube.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.put(kind, obj)
}

// Members lists the objects with the label of a set, as resource/name.
func (s *Store) Members() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	out := []string{}
	for at, obj := range s.Objects {
		if applyset.Owner(obj) != "" {
			out = append(out, strings.Split(at, "/")[0]+"/"+obj.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// Watched returns the objects of a watch now, and a channel that is closed at the next
// change.
func (s *Store) Watched(kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, <-chan struct{}) {
	s.Mu.Lock()
	s.start()
	next := s.Changed
	s.Mu.Unlock()
	objects, _ := s.List(context.Background(), kind, namespace, query)
	return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		name, one := strings.CutPrefix(query.Fields, "metadata.name=")
		return one && obj.GetName() != name
	}), next
}

// Refusal is a Store's Refuse.
type Refusal = func(verb string, kind kube.Kind, namespace, name string) error

// Forbids returns a Refuse that forbids verbs.
func Forbids(verbs ...string) Refusal {
	return func(verb string, kind kube.Kind, _, _ string) error {
		if slices.Contains(verbs, verb) {
			return forbidden(kind)
		}
		return nil
	}
}

// ForbidsWatch returns a Refuse that forbids watches in namespaces; nil: in none.
func ForbidsWatch(where func(namespace string) bool) Refusal {
	return func(verb string, kind kube.Kind, namespace, _ string) error {
		if verb == "watch" && where != nil && where(namespace) {
			return forbidden(kind)
		}
		return nil
	}
}

func forbidden(kind kube.Kind) error {
	return apierrors.NewForbidden(kind.Resource.GroupResource(), "", nil)
}

package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
)

// Before the first write a run reads what there is of its stream, with one LIST
// for each kind and namespace. What is as it was applied last is not sent
// again: the answer to its PATCH would be what the list already says. No label
// selects, though watches go by that of the set: what is to be adopted, belongs
// to another set or has lost its label must be found as well, and without a
// label a list of all namespaces would be everybody's objects.

// surveyed is one LIST: the objects of a kind in a namespace.
type surveyed struct {
	gvk       schema.GroupVersionKind
	namespace string
	kind      Kind
	members   []int
	metadata  bool // is all that must be known of them
}

// surveyTime bounds the whole of it: whoever does not answer by then may still
// answer a PATCH.
const surveyTime = 30 * time.Second

// survey finds the live objects of the steps whose kinds are served. What it may
// not or cannot read it leaves out: that is sent.
func (r *run) survey(ctx context.Context) {
	limit := surveyTime
	if r.a.Timeout > 0 {
		limit = min(limit, r.a.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lists := r.surveyLists()
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, r.a.Workers)
	for _, l := range lists {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			objects, err := r.a.Cluster.List(ctx, l.kind, l.namespace, l.query(r.steps))
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			r.found(l, objects)
		})
	}
	group.Wait()
}

// surveyLists puts the steps together by kind and namespace.
func (r *run) surveyLists() []*surveyed {
	type key struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	byKey := map[key]*surveyed{}
	var lists []*surveyed
	for i := range r.steps {
		obj := r.steps[i].obj
		gvk := obj.GroupVersionKind()
		kind, served := r.kind(gvk)
		if !served || kind.Namespaced && obj.GetNamespace() == "" {
			continue
		}
		k := key{gvk, obj.GetNamespace()}
		l := byKey[k]
		if l == nil {
			l = &surveyed{gvk: gvk, namespace: obj.GetNamespace(), kind: kind, metadata: true}
			byKey[k] = l
			lists = append(lists, l)
		}
		l.members = append(l.members, i)
		l.metadata = l.metadata && r.existsIsReady(i)
	}
	return lists
}

// existsIsReady tells whether no more than its existence makes an object ready,
// or, for a CustomResourceDefinition, that its kinds are served.
func (r *run) existsIsReady(i int) bool {
	obj := r.steps[i].obj
	return r.a.Health.Assess(obj).Rule == health.Exists || len(definedKinds(obj)) > 0
}

// query asks for no more than it must: one object by its name.
func (l *surveyed) query(steps []step) Query {
	q := Query{Metadata: l.metadata}
	if len(l.members) == 1 {
		q.Fields = "metadata.name=" + steps[l.members[0]].ID.Name
	}
	return q
}

// found keeps what a list says of the steps.
func (r *run) found(l *surveyed, objects []*unstructured.Unstructured) {
	byName := make(map[string]*unstructured.Unstructured, len(objects))
	for _, obj := range objects {
		obj.SetGroupVersionKind(l.gvk)
		byName[obj.GetName()] = obj
	}
	for _, i := range l.members {
		r.steps[i].found, r.steps[i].listed = byName[r.steps[i].ID.Name], l
	}
}

// mark writes the fingerprint into what is sent.
func mark(desired *unstructured.Unstructured) error {
	print, err := applyset.Fingerprint(desired)
	if err != nil {
		return err
	}
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[applyset.AppliedAnnotation] = print
	desired.SetAnnotations(annotations)
	return nil
}

// unchanged goes on with a step whose object is as it was applied last, as if
// its PATCH had been answered; false when it is not surely so.
func (r *run) unchanged(i int) bool {
	s := &r.steps[i]
	live := s.found
	s.found = nil
	if live == nil || r.a.inherits(live) {
		return false
	}
	wanted := desired(s.obj, r.schemas[s.obj.GroupVersionKind()], r.scaled[s.ID])
	r.a.Membership.label(wanted)
	if mark(wanted) != nil || !applyset.Unchanged(wanted, live, r.a.Manager) {
		return false
	}
	s.unchanged = !slices.Contains(r.a.Sent, s.ID)
	r.applied(i, live)
	return true
}

// forget lets go of what was read before the run: an object that was going has
// gone since, and whatever was in it or belonged to it with it.
func (r *run) forget() {
	for i := range r.steps {
		r.steps[i].found = nil
	}
}

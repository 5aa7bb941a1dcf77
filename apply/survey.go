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
	"github.com/ordapply/ordapply/internal/activity"
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
	ctx, cancel := context.WithTimeout(activity.For(ctx, "to see what there is already"), limit)
	defer cancel()
	all := make([]int, len(r.steps))
	for i := range all {
		all[i] = i
	}
	lists := r.surveyLists(all)
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, r.a.Workers)
	for _, l := range lists {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			seen := r.readProof(ctx, l)
			mu.Lock()
			defer mu.Unlock()
			r.found(l, seen, r.epoch)
		})
	}
	group.Wait()
}

// surveyLists puts steps together by kind and namespace.
func (r *run) surveyLists(steps []int) []*surveyed {
	type key struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	byKey := map[key]*surveyed{}
	var lists []*surveyed
	for _, i := range steps {
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

// found keeps what was read of the steps of a list. What could not be read is not
// known: nothing that was read before stands for it.
func (r *run) found(l *surveyed, seen readResult, epoch int) {
	l.metadata = l.metadata && !seen.each
	for _, i := range l.members {
		s := &r.steps[i]
		s.found, s.listed, s.known, s.unread, s.readIn = nil, nil, false, seen.failed[s.ID.Name], epoch+1
		if s.unread == nil {
			s.found, s.listed, s.known = seen.objects[s.ID.Name], l, true
		}
	}
}

// mark writes the fingerprint into what is sent. The uid and the resourceVersion that
// a PATCH may hold are no part of it.
func mark(desired *unstructured.Unstructured) error {
	uid, version := desired.GetUID(), desired.GetResourceVersion()
	desired.SetUID("")
	desired.SetResourceVersion("")
	print, err := applyset.Fingerprint(desired)
	desired.SetUID(uid)
	desired.SetResourceVersion(version)
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

// asAppliedLast reports whether a step's object, as it was read, is surely as it
// was applied last.
func (r *run) asAppliedLast(i int) bool {
	s := &r.steps[i]
	live := s.found
	return live != nil && r.prove(i, live) == applyset.Same
}

// unchanged goes on with a step whose object is as it was applied last, as if
// its PATCH had been answered; false when it is not surely so.
func (r *run) unchanged(i int) bool {
	s := &r.steps[i]
	same, live := r.asAppliedLast(i), s.found
	s.found, s.before = nil, identityOf(live)
	if !same {
		return false
	}
	s.unchanged = !slices.Contains(r.a.Sent, s.ID)
	s.fromRead = true
	r.applied(i, live)
	s.fromRead = false
	return true
}

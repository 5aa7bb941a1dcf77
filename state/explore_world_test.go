package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/memcluster"
)

// actor is one run of a history.
type actor struct {
	name   string
	do     func(context.Context, kube.Cluster) error
	sort   sort
	set    object.ID
	stream []string          // the objects of its stream, by key of the store
	says   map[string]string // the objects when it has succeeded: values by key of the store
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of do

	acted   bool           // it has created something
	undoing bool           // it goes back to a revision
	undone  bool           // it failed, and undid everything that it did
	deleted map[string]int // number of deletions of objects that it applies
	ending  bool           // its end was checked

	unserved  map[schema.GroupKind]bool // as it read discovery last
	identity  string                    // holder identity of its Lease
	waiting   []*request
	ended     bool           // do has returned
	dead      bool           // it was killed
	stalled   bool           // it is suspended
	blind     bool           // it was answered once that Widgets are not served
	late      bool           // it was suspended, and has not renewed its Lease since
	looked    bool           // it has read the Lease once
	lease     uint64         // hash of its last read of it
	knows     uint64         // hash of its requests and their answers, in any order
	requested map[string]int // number of requests by label
	answers   map[string]uint64
	versions  map[string][]string // that it has seen of each object, by key of the store
}

// homeState is the state of Namespace home.
type homeState int

const (
	present homeState = iota
	terminating
	gone
)

// loseHome makes another user delete Namespace home, or its controller remove it.
func (w *world) loseHome(to homeState) {
	w.homeIs, w.homeLost = to, true
	w.store.Mu.Lock()
	defer w.store.Mu.Unlock()
	now := metav1.Now()
	for at, obj := range w.store.Objects {
		switch {
		case obj.GetNamespace() == home, at == homeKey && to == gone:
			delete(w.store.Objects, at)
		case at == homeKey:
			obj = obj.DeepCopy()
			obj.SetDeletionTimestamp(&now)
			w.store.Objects[at] = obj
		}
		w.rehash(at)
	}
	w.holder = nil
}

const homeKey = "namespaces//" + home

// createHome makes another user create Namespace home again.
func (w *world) createHome() {
	if w.homeIs == present {
		return
	}
	w.homeIs = present
	addNamespace(w.store, home)
	w.rehash(homeKey)
}

func addNamespace(s *memcluster.Store, name string) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	obj.SetName(name)
	s.Add(kube.NamespaceKind(), obj)
}

// refuse refuses creations in a Namespace that is not there, or terminating.
func (w *world) refuse(verb string, kind kube.Kind, namespace, name string) error {
	creates := verb == "create" || verb == "apply" && w.store.At(memcluster.Key(kind, namespace, name)) == nil
	switch {
	case namespace != home || !creates || w.homeIs == present:
		return nil
	case w.homeIs == gone:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, home)
	}
	err := apierrors.NewForbidden(kind.Resource.GroupResource(), name, errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace " + home + " is being terminated", Field: "metadata.namespace",
	}}
	return err
}

// sort is the sort of a run.
type sort int

const (
	applies sort = iota
	deletes
	rollsBack
	forges
)

// world is one history: the cluster, and the runs on it.
type world struct {
	mu         sync.Mutex
	set        object.ID
	store      *memcluster.Store
	actors     []*actor
	next       []*actor // the runs that begin when all before them have ended
	inSequence bool     // one run begins when the one before it has ended
	poke       chan struct{}
	ledger     *ledger
	homeIs     homeState
	homeLost   bool              // it was deleted once
	refused    map[string]string // values that admission denies, by key of the store

	holder    *actor
	held      []*actor // the holders of the lock, in order
	faults    int
	foreign   map[string]string // objects that were never in the set: versions by key of the store
	theirs    bool              // an object with which another user replaced a member must remain
	exempt    bool              // and the replacement came after the last run had begun
	trace     []string
	violation string
	requests  int
	last      *exploredEvent    // the last event, if something else may come before it as well
	hashes    map[string]uint64 // of the objects, by key of the store
	forged    bool              // one of the runs is that of a forger
	makers    map[string]string // the runs that created revisions, by key of the store
	chosen    *choice           // the last choice
	entered   map[uint64]bool   // states that this history was the first in
}

func newWorld(of scenario) *world {
	s, from := memcluster.New(), of.before
	s.Objects, s.Created, s.Writes = maps.Clone(from.Objects), maps.Clone(from.Created), maps.Clone(from.Writes)
	s.Gone, s.ServerSide = map[schema.GroupKind]bool{}, from.ServerSide
	w := &world{set: of.set, forged: of.forged, store: s, refused: map[string]string{}, poke: make(chan struct{}, 1), foreign: map[string]string{}, hashes: map[string]uint64{}, makers: map[string]string{}, entered: map[uint64]bool{}}
	for at, obj := range s.Objects {
		if obj.GetAnnotations()["owner"] != "" {
			w.foreign[at] = obj.GetResourceVersion()
		}
		w.rehash(at)
	}
	w.ledger = newLedger(w.setID(), s.Objects)
	if of.set.Namespace == "" {
		s.Refuse = w.refuse
	}
	if s.ServerSide.On {
		s.ServerSide.Admit = func(before, after *unstructured.Unstructured) error { return w.admit(of, before, after) }
	}
	return w
}

// setID returns the id of the set.
func (w *world) setID() string { return applyset.Parent{ID: w.set}.SetID() }

// parentKey returns the key of its parent.
func (w *world) parentKey() string { return memcluster.KeyOf(w.set) }

// admit is the admission of the API server: it denies objects for a scenario or a fault.
func (w *world) admit(of scenario, before, after *unstructured.Unstructured) error {
	id := kube.Meta(after).ID
	at, value := memcluster.KeyOf(id), valueOf(after)
	if denied := w.refused[at]; denied != "" && denied == value || of.denies != nil && of.denies(at, value, before == nil) {
		resource := schema.GroupResource{Group: id.Group, Resource: strings.ToLower(id.Kind) + "s"}
		return apierrors.NewForbidden(resource, id.Name, errors.New("denied by an admission policy"))
	}
	return nil
}

// runJob ends a Job, as its controller and its Pod do.
func (w *world) runJob(at string, fails bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	job := w.store.At(at)
	if job == nil || job.Object["status"] != nil {
		return
	}
	condition := "Complete"
	if fails {
		condition = "Failed"
	}
	w.store.SetStatus(at, map[string]any{"conditions": []any{memcluster.Condition(condition, "True")}})
	w.rehash(at)
}

// start starts a run, up to its first request.
func (w *world) start(a *actor) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel, a.done, a.requested = cancel, make(chan struct{}), map[string]int{}
	a.answers, a.versions, a.deleted = map[string]uint64{}, map[string][]string{}, map[string]int{}
	w.actors = append(w.actors, a)
	c := &client{world: w, actor: a}
	go func() {
		defer close(a.done)
		err := c.Refresh(ctx, schema.GroupVersion{Group: widget.Group}) // discovery comes first
		if err == nil {
			err = a.do(ctx, c)
		}
		w.mu.Lock()
		a.err, a.ended = err, true
		w.mu.Unlock()
		w.wake()
	}()
}

func (w *world) wake() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// wait blocks a request until it is its turn, or its context ends. Requests
// of a suspended run are blocked in any case: the process would not notice.
func (w *world) wait(ctx context.Context, q *request) verdict {
	w.mu.Lock()
	a := q.actor
	if a.dead {
		w.mu.Unlock()
		return never
	}
	q.grant, q.born = make(chan verdict, 1), w.requests
	a.waiting = sorted(append(a.waiting, q))
	w.mu.Unlock()
	w.wake()
	select {
	case how := <-q.grant:
		return how
	case <-ctx.Done():
	}
	w.mu.Lock()
	if !a.stalled {
		a.waiting = slices.DeleteFunc(a.waiting, func(other *request) bool { return other == q })
		w.mu.Unlock()
		select {
		case how := <-q.grant:
			return how
		default:
			return granted // and rejected at once, because its context has ended
		}
	}
	w.mu.Unlock()
	return <-q.grant
}

// let grants a request and waits until all that follows from it has happened,
// up to the next requests.
func (w *world) let(q *request, how verdict) {
	w.mu.Lock()
	q.actor.waiting = slices.DeleteFunc(q.actor.waiting, func(other *request) bool { return other == q })
	w.requests++
	w.mu.Unlock()
	q.grant <- how
	synctest.Wait()
	time.Sleep(time.Microsecond) // the time is part of the runs' names, so it must differ
	synctest.Wait()
}

// turn counts the granted requests.
func (w *world) turn() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// kill ends a run: none of its requests is sent or answered any more.
func (w *world) kill(a *actor) {
	w.mu.Lock()
	a.dead, a.stalled = true, false
	for _, q := range a.waiting {
		q.grant <- never
	}
	a.waiting = nil
	w.mu.Unlock()
	a.cancel()
}

// note checks the effect of each request.
func (w *world) note(q *request, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.isLease() && q.isWrite() && err == nil {
		switch {
		case q.holder == "" && w.holder == q.actor:
			w.holder = nil
		case q.holder != "":
			if w.holder != q.actor {
				w.held = append(w.held, q.actor)
				w.exempt = false
			}
			w.holder, q.actor.identity, q.actor.late = q.actor, q.holder, false
		}
	}
	w.store.Mu.Lock()
	defer w.store.Mu.Unlock()
	if q.verb == "create" && err == nil {
		w.makers[q.at()] = q.actor.name
	}
	if q.isWrite() {
		w.rehash(q.at())
		if err == nil {
			w.follow(q)
		}
	}
	for _, uncovered := range w.store.Uncovered {
		if !strings.HasPrefix(uncovered, "ConfigMap shop/l ") { // no run ever wrote it
			w.violate("no member unknown to its set: " + uncovered)
		}
	}
	if w.theirs && q.verb == "apply" && err == nil && q.at() == swapKey {
		w.theirs = false // a run has adopted it
	}
	if obj := w.store.Objects[swapKey]; w.theirs && (obj == nil || obj.GetUID() != "theirs") {
		w.violate("nothing foreign deleted: " + swapKey)
	}
	for at, version := range w.foreign {
		if obj := w.store.Objects[at]; obj == nil || obj.GetResourceVersion() != version {
			w.violate("nothing foreign deleted: " + at)
		}
	}
}

func (w *world) violate(what string) {
	if w.violation == "" {
		w.violation = what
	}
}

// learn adds an answer to the run's knowledge. Reads of the Lease while another
// run holds it count once.
func (w *world) learn(q *request, answer any, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, h := q.actor, fnv.New64a()
	fmt.Fprint(h, w.answerHash(q, answer), reason(err))
	if q.isLease() && q.verb == "get" {
		poll := a.looked
		a.looked, a.lease = true, h.Sum64()
		if poll {
			return
		}
	}
	label := q.label()
	if a.isAskingAgain(q) && a.answers[label] == h.Sum64() {
		return
	}
	a.answers[label] = h.Sum64()
	a.requested[label]++
	fmt.Fprint(h, label, a.requested[label])
	a.knows += h.Sum64()
}

// isAskingAgain reports whether a run requests Widgets, or whether they are
// served, for the third time.
func (a *actor) isAskingAgain(q *request) bool {
	definition := !q.isWrite() && (q.isOf("customresourcedefinitions") || q.isOf("apiservices"))
	return (q.ofWidgets() || definition) && a.requested[q.label()] >= 2
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(string(apierrors.ReasonForError(err)), "other")
}

func (w *world) answerHash(q *request, answer any) uint64 {
	switch answer := answer.(type) {
	case *unstructured.Unstructured:
		return w.seenBy(q.actor, q.kind, answer)
	case []*unstructured.Unstructured:
		return w.seenBy(q.actor, q.kind, answer...)
	case bool:
		if answer {
			return 1
		}
	}
	return 0
}

// sees adds a report of a watch to a run's knowledge.
func (w *world) sees(a *actor, kind kube.Kind, change kube.WatchEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprint(h, "watch", kind.Resource, change.Listed, change.Deleted, w.seenBy(a, kind, change.Objects...))
	a.knows += h.Sum64()
}

// seenBy returns a hash of objects as a run sees them now.
func (w *world) seenBy(a *actor, kind kube.Kind, objects ...*unstructured.Unstructured) uint64 {
	sum := uint64(len(objects))
	for _, obj := range objects {
		if obj != nil {
			at := memcluster.Key(kind, obj.GetNamespace(), obj.GetName())
			h := fnv.New64a()
			fmt.Fprint(h, w.hashes[at], a.versionsOf(at, obj, true))
			sum += h.Sum64()
		}
	}
	return sum
}

// versionsOf returns the ordinals of an object's uid and resourceVersion
// among all that a run has seen of this name: -1 for one that it has not seen.
// The values themselves only say whether two objects are the same. Of a Lease
// only the last version is kept.
func (a *actor) versionsOf(at string, obj *unstructured.Unstructured, seen bool) [2]int {
	var out [2]int
	for i, version := range []string{string(obj.GetUID()), obj.GetResourceVersion()} {
		known := a.versions[at]
		if seen && i == 0 && strings.HasPrefix(at, "leases.") {
			a.versions[at], known = nil, nil
		}
		version = fmt.Sprint(i, version)
		if out[i] = slices.Index(known, version); out[i] < 0 && seen {
			out[i], a.versions[at] = len(known), append(known, version)
		}
	}
	return out
}

// rehash updates the hash of an object that was written.
func (w *world) rehash(at string) {
	if obj := w.store.Objects[at]; obj != nil {
		w.hashes[at] = w.objectHash(at, obj)
	} else {
		delete(w.hashes, at)
	}
}

// objectHash covers an object without times and the names of runs.
func (w *world) objectHash(at string, obj *unstructured.Unstructured) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, at, obj.GetUID() == "theirs", obj.GetLabels(), obj.GetAnnotations(), obj.Object["data"] != nil, w.makers[at])
	if obj.GetKind() == jobKind.Kind {
		fmt.Fprint(h, valueOf(obj), obj.Object["status"])
	}
	if obj.GetLabels()[history.RevisionLabel] == "" {
		fmt.Fprint(h, obj.Object["data"])
	}
	if holder := leaseHolder(obj); holder != "" {
		for _, a := range w.actors {
			fmt.Fprint(h, a.identity == holder)
		}
	}
	entries, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	for _, entry := range list {
		fields := maps.Clone(entry.(map[string]any))
		delete(fields, "time")
		fmt.Fprint(h, fields)
	}
	return h.Sum64()
}

// state returns a hash that identifies histories from which the same can
// follow: the objects, the answers that each active run got, and which of
// these are still current. The next step of a run depends only on that and on
// time. The time until the next timeout or renewal is left out: time passes
// only where a run waits for it, and a run that was suspended, and may have
// lost its Lease, counts as another state. The options are part of the hash, so
// that a history that skips a covered option does not stand for one that has
// it.
func (w *world) state(options []string) uint64 {
	h := fnv.New64a()
	sum := uint64(0)
	for _, hash := range w.hashes {
		sum += hash
	}
	fmt.Fprint(h, options, sum, w.store.Gone[widget], w.theirs, w.exempt, w.ledger.hash(), w.refused, len(w.next), w.homeIs, w.homeLost)
	if w.holder != nil {
		fmt.Fprint(h, w.holder.name)
	}
	if n := len(w.held); n > 0 {
		fmt.Fprint(h, "held", w.held[n-1].name)
	}
	for _, a := range w.actors {
		if a.ended || a.dead { // its knowledge no longer matters
			fmt.Fprint(h, a.name, a.ended, a.dead, a.err == nil, a.blind)
			continue
		}
		fmt.Fprint(h, a.undoing, a.acted, a.deleted, a.name, a.knows, a.lease, a.late, a.blind, a.unserved[widget], labelsOf(a.waiting), w.upToDate(a))
	}
	return h.Sum64()
}

// upToDate returns a hash of the objects that are as a run has seen them.
func (w *world) upToDate(a *actor) uint64 {
	sum := uint64(0)
	for at := range a.versions {
		if obj := w.store.Objects[at]; obj != nil {
			h := fnv.New64a()
			fmt.Fprint(h, at, a.versionsOf(at, obj, false))
			sum += h.Sum64()
		}
	}
	return sum
}

// sorted sorts requests, so that their order does not depend on the order of
// a run's goroutines.
func sorted(waiting []*request) []*request {
	slices.SortStableFunc(waiting, func(a, b *request) int { return strings.Compare(a.label(), b.label()) })
	return waiting
}

func labelsOf(waiting []*request) []string {
	var out []string
	for _, q := range waiting {
		out = append(out, q.label())
	}
	slices.Sort(out)
	return out
}

// as returns an error unless the cluster is as a run that succeeded
// specifies.
func (w *world) as(a *actor) error {
	w.store.Mu.Lock()
	defer w.store.Mu.Unlock()
	var faults []string
	set := applyset.Parent{ID: a.set}
	for at, obj := range w.store.Objects {
		unseen := a.blind && at == keyC      // it may be left, and the set has its kind: see blind
		unproven := at == keyL || w.homeLost // a member in no revision is reported
		if set.HasMember(obj) && a.says[at] == "" && !unseen && !unproven {
			faults = append(faults, at+" is still a member")
		}
	}
	for at, want := range a.says {
		obj := w.store.Objects[at]
		if at == swapKey && w.exempt {
			continue
		}
		if obj == nil {
			faults = append(faults, at+" is not there")
			continue
		}
		if got := valueOf(obj); got != want {
			faults = append(faults, fmt.Sprintf("%s has the value of %s", at, got))
		}
		if !set.HasMember(obj) {
			faults = append(faults, at+" is no member")
		}
	}
	faults = append(faults, w.remembered(a)...)
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return fmt.Errorf("after the last run everything is as that run says: %s", strings.Join(faults, ", "))
}

// remembered returns the faults of the set's own records.
func (w *world) remembered(a *actor) []string {
	parent := w.store.Objects[memcluster.KeyOf(a.set)]
	if a.undone && len(a.says) == 0 {
		return nil // the set remains, without members
	}
	if len(a.says) == 0 { // it deleted the set
		if parent != nil {
			return []string{"the parent is still there"}
		}
		return nil
	}
	if parent == nil {
		return []string{"there is no parent"}
	}
	promise, err := applyset.ReadParent(parent)
	if err != nil {
		return []string{err.Error()}
	}
	kinds := map[string]bool{}
	for at := range a.says {
		kinds[exploredObject(at, "").GetKind()] = true
	}
	var out []string
	for _, gk := range promise.Kinds {
		unsure := gk.Kind == "ServiceAccount" || a.blind && gk == widget // may belong to no member now, or not have been seen
		if !kinds[gk.Kind] && !unsure {
			out = append(out, "the set still promises "+gk.String())
		}
	}
	if w.homeLost {
		return out // and the history with it
	}
	newest, number := "", 0
	for at, obj := range w.store.Objects {
		if !strings.HasPrefix(at, "secrets/"+cmp.Or(a.set.Namespace, home)+"/") {
			continue
		}
		if n, _ := strconv.Atoi(obj.GetLabels()[history.RevisionLabel]); n > number && obj.GetLabels()[history.StatusLabel] != "" {
			newest, number = obj.GetLabels()[history.StatusLabel], n
		}
	}
	if newest != string(history.Deployed) {
		out = append(out, "its newest revision is "+newest)
	}
	return out
}

var widget = schema.GroupKind{Group: "example.com", Kind: "Widget"}

// swapKey is the object that another user may replace.
const swapKey = "serviceaccounts/other/b"

// swap makes another user replace an object of the set by one of its name.
func (w *world) swap() {
	kind := kube.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, Namespaced: true}
	theirs := w.store.At(swapKey)
	theirs.SetLabels(nil)
	theirs.SetManagedFields(nil)
	theirs.SetUID("theirs")
	theirs.Object["data"] = map[string]any{"v": "theirs"}
	w.ledger.live[swapKey], w.ledger.theirs[swapKey] = w.store.Add(kind, theirs), true
	w.rehash(swapKey)
	w.theirs, w.exempt = true, true
}

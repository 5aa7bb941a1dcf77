package request

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Lister is the source of a snapshot; kube.Cluster is one.
type Lister interface {
	kube.Discovery
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
	List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error)
}

// Reader reads the live objects of manifests. It is not changed by that, and may be used
// by several goroutines.
type Reader struct {
	Cluster   Lister
	Owner     write.Owner
	Bodies    write.Stream
	Health    *health.Assessor
	Workers   int // bounds the concurrent requests of Read
	Manifests []*unstructured.Unstructured

	prove func(desired, live *unstructured.Unstructured, manager string) applyset.Proof
}

// NewReader returns a reader of the live objects of a plan's steps; manifests has the
// manifest of each. It teaches the assessor the kinds that the stream defines.
func NewReader(cluster Lister, owner write.Owner, plan *ordering.Plan, manifests map[object.ID]*unstructured.Unstructured, assessor *health.Assessor, workers int) Reader {
	r := Reader{Cluster: cluster, Owner: owner, Bodies: write.NewStream(manifests, owner.Set, kube.KindsOf(cluster)), Health: assessor, Workers: workers, prove: applyset.Prove}
	for _, s := range plan.Steps {
		assessor.Learn(manifests[s.ID])
		r.Manifests = append(r.Manifests, manifests[s.ID])
	}
	return r
}

// LiveObject is one manifest's object as read. The zero value was not read.
type LiveObject struct {
	Live     *unstructured.Unstructured // nil when it does not exist or is not known
	Known    bool                       // it is known whether it exists
	Metadata bool                       // only its metadata was read
	Err      error                      // why it could not be read
	Epoch    int                        // when it was read, as the caller counts, from 1; 0: not read

	same bool // it was proven unchanged when it was read
}

// ReadTimeout bounds the reading of the whole snapshot. An API server that is too
// slow for it may still answer a PATCH.
const ReadTimeout = 30 * time.Second

// Read reads the live objects whose kinds are served, by position of their manifests,
// within a limit if that is positive. Objects that it may not or cannot read are not known:
// they are sent. It also returns where it saw that all members of the run's set have manifests. also
// are other requests, which are made meanwhile.
func (r Reader) Read(ctx context.Context, limit time.Duration, also ...func(context.Context)) ([]LiveObject, Places) {
	if limit <= 0 || limit > ReadTimeout {
		limit = ReadTimeout
	}
	ctx, cancel := context.WithTimeout(activity.For(ctx, "to find existing objects"), limit)
	defer cancel()
	all := make([]int, len(r.Manifests))
	for i := range all {
		all[i] = i
	}
	objects := make([]LiveObject, len(r.Manifests))
	lists := r.Lists(all)
	places := Places{}
	var mu sync.Mutex
	activity.Each(len(lists)+len(also), r.Workers, func(n int) {
		if n >= len(lists) {
			also[n-len(lists)](ctx)
			return
		}
		seen := r.readForComparison(ctx, lists[n])
		for _, i := range lists[n].Members { // no other list has them
			objects[i] = r.Object(lists[n], seen, i, 1)
		}
		if r.sawNoOtherMember(lists[n], seen) {
			mu.Lock()
			defer mu.Unlock()
			places[Place{lists[n].gvk.GroupKind(), lists[n].namespace}] = true
		}
	})
	return objects, places
}

// Place is a kind in a namespace, "" for a cluster-scoped kind.
type Place struct {
	Kind      schema.GroupKind
	Namespace string
}

// Places are some kinds in some namespaces.
type Places map[Place]bool

// sawNoOtherMember reports whether a list has all objects of its kind and namespace, and none but
// those of manifests has the label of the run's set.
func (r Reader) sawNoOtherMember(l *LiveList, seen Result) bool {
	if r.Owner.Set == "" || l.isOfOne() || seen.each || len(seen.failed) > 0 {
		return false
	}
	named := make(map[string]bool, len(l.Members))
	for _, i := range l.Members {
		named[r.Manifests[i].GetName()] = true
	}
	for name, live := range seen.objects {
		if !named[name] && applyset.Owner(live) == r.Owner.Set {
			return false
		}
	}
	return true
}

// LiveList is one LIST: the objects of a kind in a namespace.
type LiveList struct {
	gvk       schema.GroupVersionKind
	namespace string
	kind      kube.Kind
	Members   []int // positions of manifests
	metadata  bool  // only metadata is needed
}

// isOfOne reports whether only one object is read.
func (l *LiveList) isOfOne() bool { return len(l.Members) == 1 }

// Lists groups manifests by kind and namespace.
func (r Reader) Lists(manifests []int) []*LiveList {
	type key struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	byKey := map[key]*LiveList{}
	var lists []*LiveList
	for _, i := range manifests {
		obj := r.Manifests[i]
		gvk := obj.GroupVersionKind()
		kind, served := kube.KindsOf(r.Cluster)(gvk)
		if !served || kind.Namespaced && obj.GetNamespace() == "" {
			continue
		}
		k := key{gvk, obj.GetNamespace()}
		l := byKey[k]
		if l == nil {
			l = &LiveList{gvk: gvk, namespace: obj.GetNamespace(), kind: kind, metadata: true}
			byKey[k] = l
			lists = append(lists, l)
		}
		l.Members = append(l.Members, i)
		l.metadata = l.metadata && r.isReadyWhenCreated(obj)
	}
	return lists
}

// isReadyWhenCreated reports whether an object is ready when it exists, or, for a
// CustomResourceDefinition, when its kinds are served.
func (r Reader) isReadyWhenCreated(obj *unstructured.Unstructured) bool {
	return r.Health.Assess(obj).Rule == health.Exists || len(kube.DefinedKinds(obj)) > 0
}

// Object returns one manifest's object as read in an epoch.
func (r Reader) Object(l *LiveList, seen Result, i, epoch int) LiveObject {
	name := r.Manifests[i].GetName()
	if err := seen.failed[name]; err != nil {
		return LiveObject{Err: err, Epoch: epoch}
	}
	return LiveObject{Live: seen.objects[name], Known: true, Metadata: l.metadata && !seen.each, Epoch: epoch, same: seen.same[name]}
}

// MembershipError returns an error when the object of a manifest may not become a member
// of the run's apply set; nil when it may, or is left as it is. named finds the set
// that owns it.
func (r Reader) MembershipError(i int, o LiveObject, named write.SetFinder) error {
	switch {
	case o.Live == nil:
		return r.UnreadError(i, o.Err)
	case r.LeftBecause(i, o.Live) != "":
		return nil
	}
	return r.Owner.MembershipError(o.Live, named)
}

// IsUnchanged reports whether an apply would leave an object as it was read: it is
// proven unchanged since its manifest was last applied, or a policy forbids changes.
func (r Reader) IsUnchanged(i int, o LiveObject) bool {
	return o.Live != nil && (r.LeftBecause(i, o.Live) != "" || o.same || r.compare(i, o.Live) == applyset.Same)
}

// TakesOver reports whether a run takes over fields that other managers own on a live object.
func (r Reader) TakesOver(i int, live *unstructured.Unstructured) bool {
	return r.Owner.HasPreviousManagerFields(live, r.Bodies.LeftToOthers(r.Manifests[i]))
}

// compare compares a manifest with its live object.
func (r Reader) compare(i int, live *unstructured.Unstructured) applyset.Proof {
	if r.TakesOver(i, live) || r.Owner.Set != "" && applyset.Owner(live) != r.Owner.Set {
		return applyset.Differs
	}
	if applyset.HasJoined(live, r.Owner.Manager) {
		if proof := r.proveBody(r.Bodies.WithoutSet(), i, live); proof != applyset.Differs {
			return proof
		}
	}
	return r.proveBody(r.Bodies, i, live)
}

// proveBody compares the body of a manifest with its live object.
func (r Reader) proveBody(bodies write.Stream, i int, live *unstructured.Unstructured) applyset.Proof {
	wanted, err := bodies.BodyFor(r.Manifests[i], live, r.Owner)
	if err != nil {
		return applyset.Differs
	}
	return r.prove(wanted, live, r.Owner.Manager)
}

// Joining returns how the live object of a manifest joins the run's set; nil unless that is all that
// an apply would change.
func (r Reader) Joining(i int, live *unstructured.Unstructured) *write.Joining {
	joining, proof := r.joins(i, live)
	if proof != applyset.Same {
		return nil
	}
	return &joining
}

// joins returns how the live object of a manifest joins the run's set, and whether its PATCH without
// the set would change nothing.
func (r Reader) joins(i int, live *unstructured.Unstructured) (write.Joining, applyset.Proof) {
	joining, after, ok := r.Owner.Joining(live, r.Bodies.LeftToOthers(r.Manifests[i]))
	if !ok {
		return joining, applyset.Differs
	}
	return joining, r.proveBody(r.Bodies.WithoutSet(), i, after)
}

// readForComparison reads the live objects of a list. Where readiness needs only
// metadata, it reads that first, and the whole objects only when metadata
// cannot prove that all of them are unchanged.
func (r Reader) readForComparison(ctx context.Context, l *LiveList) Result {
	seen := r.ReadList(ctx, l)
	if !l.metadata || !r.needsWholeObjects(l, seen) {
		return seen
	}
	l.metadata = false
	whole := r.ReadList(ctx, l)
	if len(whole.failed) > 0 {
		l.metadata = true
		return seen // unproven objects are sent
	}
	return whole
}

// needsWholeObjects reports whether some object needs it, see needsWhole. It remembers objects that
// are proven unchanged.
func (r Reader) needsWholeObjects(l *LiveList, seen Result) bool {
	parts := runtime.GOMAXPROCS(0)
	same := make([]bool, len(l.Members))
	var found atomic.Bool
	activity.Each(parts, parts, func(part int) {
		r := r
		r.prove = applyset.NewProver().Prove
		for n := part * len(l.Members) / parts; n < (part+1)*len(l.Members)/parts && !found.Load(); n++ {
			i := l.Members[n]
			if live := seen.objects[r.Manifests[i].GetName()]; live != nil {
				needs, proof := r.needsWhole(i, live)
				same[n] = proof == applyset.Same
				if needs {
					found.Store(true)
				}
			}
		}
	})
	for n, i := range l.Members {
		if same[n] {
			seen.same[r.Manifests[i].GetName()] = true
		}
	}
	return found.Load()
}

// needsWhole reports whether an object can only be proven unchanged by its body, or
// only its body shows whether its PATCH may be refused; CustomResourceDefinitions are too large
// for the latter. It also returns what the metadata proves.
func (r Reader) needsWhole(i int, live *unstructured.Unstructured) (bool, applyset.Proof) {
	if mutation.In(r.Manifests[i].Object) || mutation.In(live.Object) {
		return true, applyset.NeedsBody // it is compared when it has its values; earlier ones may be secret
	}
	proof := r.compare(i, live)
	if proof == applyset.Differs {
		if _, joins := r.joins(i, live); joins == applyset.NeedsBody {
			return true, proof
		}
	}
	return proof == applyset.NeedsBody || proof == applyset.Differs && len(kube.DefinedKinds(r.Manifests[i])) == 0 && r.MayBeRefused(i, live), proof
}

// MayBeRefused reports whether the PATCH of a manifest may be refused because of the live object:
// it may change immutable fields, or be in conflict with other managers. The whole object proves
// that better than its metadata. Fields that are taken over are moved before the PATCH, which
// then is another: it is not judged here.
func (r Reader) MayBeRefused(i int, live *unstructured.Unstructured) bool {
	if r.TakesOver(i, live) {
		return false
	}
	body, err := r.Bodies.BodyFor(r.Manifests[i], live, r.Owner)
	return err == nil && (r.Owner.MayConflict(live, body) || !write.MayRecreate(r.Manifests[i]) && r.Owner.MayChangeFixed(live, body))
}

// Result holds the objects of a list by name. An object that is in
// neither map does not exist.
type Result struct {
	objects map[string]*unstructured.Unstructured
	failed  map[string]error // why an object could not be read
	same    map[string]bool  // proven unchanged
	each    bool             // each was read with a GET of its own, whole
}

// ReadList sends one LIST, with a field selector where it is for a single object.
// Where that fails and the resources become members of an apply set, it sends
// a GET for each object: its owner must be known before it is written.
func (r Reader) ReadList(ctx context.Context, l *LiveList) Result {
	query := kube.Query{Metadata: l.metadata}
	if l.isOfOne() {
		query.Fields = "metadata.name=" + r.Manifests[l.Members[0]].GetName()
	}
	seen := Result{objects: map[string]*unstructured.Unstructured{}, failed: map[string]error{}, same: map[string]bool{}}
	objects, err := r.Cluster.List(ctx, l.kind, l.namespace, query)
	switch {
	case err == nil:
		for _, obj := range objects {
			obj.SetGroupVersionKind(l.gvk)
			seen.objects[obj.GetName()] = obj
		}
	case r.Owner.MustKnowOwner():
		r.readEach(ctx, l, &seen)
	default:
		for _, i := range l.Members {
			seen.failed[r.Manifests[i].GetName()] = err
		}
	}
	return seen
}

// readsAtATime bounds the concurrent GETs of one list.
const readsAtATime = 8

func (r Reader) readEach(ctx context.Context, l *LiveList, seen *Result) {
	seen.each = true
	var mu sync.Mutex
	activity.Each(len(l.Members), readsAtATime, func(n int) {
		name := r.Manifests[l.Members[n]].GetName()
		live, err := r.Cluster.Get(ctx, l.kind, l.namespace, name)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case fault.IsMissing(err):
		case err != nil:
			seen.failed[name] = err
		default:
			seen.objects[name] = live
		}
	})
}

// MembershipErrors returns the objects of a list that may not become members,
// with the reason, by name.
func (r Reader) MembershipErrors(ctx context.Context, l *LiveList, seen Result) map[string]error {
	named := write.NewSetFinder(ctx, r.Cluster)
	refused := map[string]error{}
	for _, i := range l.Members {
		name := r.Manifests[i].GetName()
		if live := seen.objects[name]; live != nil {
			if err := r.MembershipError(i, LiveObject{Live: live}, named); err != nil {
				refused[name] = err
			}
		}
	}
	return refused
}

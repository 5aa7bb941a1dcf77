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
	"github.com/ordapply/ordapply/kube"
)

// Before the first write a run reads the live objects of its stream, with one
// LIST for each kind and namespace. Unchanged objects are not sent again: the
// answer to their PATCH would be what the list contains. The lists have no
// label selector, although watches select by the set's label: objects to
// adopt, of other sets, or without their label must be found as well. Without
// a label, a list of all namespaces would contain everything in the cluster.

// snapshotList is one LIST: the objects of a kind in a namespace.
type snapshotList struct {
	gvk       schema.GroupVersionKind
	namespace string
	kind      kube.Kind
	members   []int
	metadata  bool // only metadata is needed
}

// snapshotTimeout bounds the reading of the whole snapshot. An API server that is too
// slow for it may still answer a PATCH.
const snapshotTimeout = 30 * time.Second

// readSnapshot reads the live objects of the steps whose kinds are served. Objects
// that it may not or cannot read are skipped: they are sent.
func (r *run) readSnapshot(ctx context.Context) {
	limit := snapshotTimeout
	if r.applier.Timeout > 0 {
		limit = min(limit, r.applier.Timeout)
	}
	ctx, cancel := context.WithTimeout(activity.For(ctx, "to find existing objects"), limit)
	defer cancel()
	all := make([]int, len(r.steps))
	for i := range all {
		all[i] = i
	}
	lists := r.snapshotLists(all)
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, r.applier.Workers)
	for _, l := range lists {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			seen := r.readForComparison(ctx, l)
			mu.Lock()
			defer mu.Unlock()
			r.recordRead(l, seen, r.epoch)
		})
	}
	group.Wait()
}

// snapshotLists groups steps by kind and namespace.
func (r *run) snapshotLists(steps []int) []*snapshotList {
	type key struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	byKey := map[key]*snapshotList{}
	var lists []*snapshotList
	for _, i := range steps {
		obj := r.steps[i].manifest
		gvk := obj.GroupVersionKind()
		kind, served := r.kind(gvk)
		if !served || kind.Namespaced && obj.GetNamespace() == "" {
			continue
		}
		k := key{gvk, obj.GetNamespace()}
		l := byKey[k]
		if l == nil {
			l = &snapshotList{gvk: gvk, namespace: obj.GetNamespace(), kind: kind, metadata: true}
			byKey[k] = l
			lists = append(lists, l)
		}
		l.members = append(l.members, i)
		l.metadata = l.metadata && r.isReadyWhenCreated(i)
	}
	return lists
}

// isReadyWhenCreated reports whether an object is ready when it exists, or, for a
// CustomResourceDefinition, when its kinds are served.
func (r *run) isReadyWhenCreated(i int) bool {
	obj := r.steps[i].manifest
	return r.applier.Health.Assess(obj).Rule == health.Exists || len(kube.DefinedKinds(obj)) > 0
}

// recordRead records what was read of the steps of a list. For objects that could
// not be read, earlier reads are dropped.
func (r *run) recordRead(l *snapshotList, seen readResult, epoch int) {
	l.metadata = l.metadata && !seen.each
	for _, i := range l.members {
		s := &r.steps[i]
		s.listedObject, s.list, s.existenceKnown, s.readError, s.readEpoch = nil, nil, false, seen.failed[s.ID.Name], epoch+1
		if s.readError == nil {
			s.listedObject, s.list, s.existenceKnown = seen.objects[s.ID.Name], l, true
		}
	}
}

// setFingerprint adds the fingerprint to an object that is sent. The uid and the
// resourceVersion that a PATCH may contain do not enter it.
func setFingerprint(desired *unstructured.Unstructured) error {
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

// isUnchanged reports whether a step's object, as it was read, is proven
// unchanged since it was last applied.
func (r *run) isUnchanged(i int) bool {
	s := &r.steps[i]
	live := s.listedObject
	return live != nil && r.compareWithLive(i, live) == applyset.Same
}

// skipUnchanged handles a step whose object is proven unchanged as if its PATCH
// had been answered; false when it is not.
func (r *run) skipUnchanged(i int) bool {
	s := &r.steps[i]
	same, live := r.isUnchanged(i), s.listedObject
	s.listedObject, s.before = nil, identityOf(live)
	if !same {
		return false
	}
	s.unchanged = !slices.Contains(r.applier.Sent, s.ID)
	s.fromRead = true
	r.applied(i, live)
	s.fromRead = false
	return true
}

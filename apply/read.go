package apply

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// readRequest is a read of steps' objects of one kind and namespace, for a
// worker.
type readRequest struct {
	gvk       schema.GroupVersionKind
	kind      kube.Kind
	namespace string
	names     []string
	metadata  bool // only metadata is needed
}

// readResult holds the objects of a request by name. An object that is in
// neither map does not exist.
type readResult struct {
	objects map[string]*unstructured.Unstructured
	failed  map[string]error // why an object could not be read
	each    bool             // each was read with a GET of its own, whole
}

func (r *run) queryOf(l *snapshotList) readRequest {
	q := readRequest{gvk: l.gvk, kind: l.kind, namespace: l.namespace, metadata: l.metadata}
	for _, i := range l.members {
		q.names = append(q.names, r.steps[i].ID.Name)
	}
	return q
}

// read sends one LIST, with a field selector where it is for a single object.
// Where that fails and the resources become members of an apply set, it sends
// a GET for each object: its owner must be known before it is written.
func (a Applier) read(ctx context.Context, q readRequest) readResult {
	query := kube.Query{Metadata: q.metadata}
	if len(q.names) == 1 {
		query.Fields = "metadata.name=" + q.names[0]
	}
	seen := readResult{objects: map[string]*unstructured.Unstructured{}, failed: map[string]error{}}
	objects, err := a.Cluster.List(ctx, q.kind, q.namespace, query)
	switch {
	case err == nil:
		for _, obj := range objects {
			obj.SetGroupVersionKind(q.gvk)
			seen.objects[obj.GetName()] = obj
		}
	case a.Membership.mustKnowOwner():
		a.readEach(ctx, q, &seen)
	default:
		for _, name := range q.names {
			seen.failed[name] = err
		}
	}
	return seen
}

// readsAtATime bounds the concurrent GETs of one request.
const readsAtATime = 8

func (a Applier) readEach(ctx context.Context, q readRequest, seen *readResult) {
	seen.each = true
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, readsAtATime)
	for _, name := range q.names {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			live, err := a.Cluster.Get(ctx, q.kind, q.namespace, name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case kubeerr.IsMissing(err):
			case err != nil:
				seen.failed[name] = err
			default:
				seen.objects[name] = live
			}
		})
	}
	group.Wait()
}

// mustKnowOwner reports whether an object must be read before it is written,
// because it may not be allowed to become a member.
func (m Membership) mustKnowOwner() bool { return m.Set != "" && m.Adopt != AdoptAny }

// unreadMembershipError returns an error when an object that could not be read may
// not be written; nil when it may. The API server's conflict detection
// protects members of other sets, but not objects of no set.
func (m Membership) unreadMembershipError(err error) error {
	if err == nil || m.Set == "" || m.Adopt != AdoptNever {
		return nil
	}
	return fmt.Errorf("it cannot be read, so it may exist already, and --adopt=never adopts no existing object: %w; "+
		"grant get or list on it to the account in your kubeconfig, or use --adopt=unowned", err)
}

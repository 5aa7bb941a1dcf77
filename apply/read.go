package apply

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readRequest is what a worker must know to read the objects of one kind and namespace
// that steps are about.
type readRequest struct {
	gvk       schema.GroupVersionKind
	kind      Kind
	namespace string
	names     []string
	metadata  bool // is all that must be known of them
}

// readResult is what was read of the objects of a request, by name. An object that
// is in neither map does not exist.
type readResult struct {
	objects map[string]*unstructured.Unstructured
	failed  map[string]error // why an object could not be read
	each    bool             // each was read by its name, whole
}

func (r *run) queryOf(l *surveyed) readRequest {
	q := readRequest{gvk: l.gvk, kind: l.kind, namespace: l.namespace, metadata: l.metadata}
	for _, i := range l.members {
		q.names = append(q.names, r.steps[i].ID.Name)
	}
	return q
}

// read makes one LIST, of one object by its name where there is only one. Where
// that fails and the resources become members of an apply set, each object is read
// by its name: whose member an object is must be known before it is written.
func (a Applier) read(ctx context.Context, q readRequest) readResult {
	query := Query{Metadata: q.metadata}
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

// readsAtATime is how many objects of a request are read at a time.
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
			case missing(err):
			case err != nil:
				seen.failed[name] = err
			default:
				seen.objects[name] = live
			}
		})
	}
	group.Wait()
}

// mustKnowOwner reports whether an object must be read before it is written, as
// it may be one that must not become a member.
func (m Membership) mustKnowOwner() bool { return m.Set != "" && m.Adopt != AdoptAny }

// refusesUnread says why an object that could not be read may not be written; nil
// when it may. The API server itself refuses to move a member of another set, but
// not to adopt an object of none.
func (m Membership) refusesUnread(err error) error {
	if err == nil || m.Set == "" || m.Adopt != AdoptNever {
		return nil
	}
	return fmt.Errorf("it cannot be read, so it may exist already, and --adopt=never adopts no existing object: %w; "+
		"grant get or list on it to the account in your kubeconfig, or use --adopt=unowned", err)
}

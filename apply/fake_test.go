package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// script is the behaviour of a cluster under synctest for one resource.
type script struct {
	latency    time.Duration // of its PATCH
	readyAfter time.Duration // after the PATCH; 0: the response is ready already
	never      bool          // never ready
	failsAfter time.Duration // with never: it reports failure, this long after the PATCH
	rushed     bool          // the event that it is ready precedes the answer to its PATCH
	ghosts     bool          // a second later, stale events report it as ready
	errs       []error       // answers to the first PATCHes
	bare       bool          // its kind has a status that no controller writes
}

// scripted is a Cluster without a server, for behaviour that depends only on
// time: the order of requests, timeouts and interrupts. Behaviour of the API
// server is tested on a real one.
type scripted struct {
	scripts map[object.ID]script
	// served reports whether a kind is served; nil: every kind is.
	served func(kind string) bool
	// backed reports whether Services have ready endpoints; nil: they have.
	backed func() bool
	// outside are objects outside the stream, as a watch first lists them;
	// nil: it does not exist.
	outside map[object.ID]*unstructured.Unstructured
	// unwatchable reports where watching is forbidden; nil: nowhere.
	unwatchable func(namespace string) bool
	// unlistable returns the error of a LIST; nil: none fails.
	unlistable func(kind string) error
	// lists is set when each watch first lists the live objects.
	lists bool

	mu      sync.Mutex
	live    map[object.ID]*unstructured.Unstructured // what Get and List read
	log     []entry
	watches []watching
	tries   map[object.ID]int
	looks   int // discovery requests
	asked   int // endpoint requests
	out     int // PATCHes in flight
	mostOut int
}

// watching is one open watch.
type watching struct {
	kind, namespace, name string // "" for any
	labels                string
	changes               chan kube.WatchEvent
}

func newWatching(kind kube.Kind, namespace string, query kube.Query) watching {
	name := strings.TrimPrefix(query.Fields, "metadata.name=")
	return watching{kind.Resource.Resource, namespace, name, query.Labels, make(chan kube.WatchEvent, 1000)}
}

func (w watching) covers(id object.ID) bool {
	return w.kind == id.Kind && (w.namespace == "" || w.namespace == id.Namespace) && (w.name == "" || w.name == id.Name)
}

// entry is one logged action.
type entry struct {
	id   object.ID
	what string // "sent", "answered", "ready"
}

func (c *scripted) record(id object.ID, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, entry{id, what})
}

// count counts a PATCH as in flight until the returned function is called.
func (c *scripted) count() func() {
	add := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.out += n
		c.mostOut = max(c.mostOut, c.out)
	}
	add(1)
	return func() { add(-1) }
}

// happened returns the log so far.
func (c *scripted) happened() []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

func (c *scripted) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	if c.served != nil && !c.served(gvk.Kind) {
		return kube.Kind{}, false
	}
	return kube.Kind{Resource: gvk.GroupVersion().WithResource(gvk.Kind), Namespaced: !strings.HasSuffix(gvk.Kind, "WebhookConfiguration"), HasStatus: true}, true
}

func (c *scripted) Unreadable(schema.GroupVersion) error { return nil }

func (c *scripted) AllUnreadable() []schema.GroupVersion { return nil }

func (c *scripted) Refresh(context.Context, ...schema.GroupVersion) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return nil
}

// refreshes returns the number of discovery requests.
func (c *scripted) refreshes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

func (c *scripted) Apply(ctx context.Context, _ kube.Kind, obj *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	id := apply.Meta(obj).ID
	s := c.scripts[id]
	c.record(id, "sent")
	defer c.count()()
	if s.rushed {
		time.AfterFunc(s.latency/2, func() { c.tell(liveObject(obj, true)) })
	}
	select {
	case <-time.After(s.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := c.nextError(id, s); err != nil {
		return nil, err
	}
	live := liveObject(obj, s.readyAfter == 0 && !s.never)
	live.SetResourceVersion("1")
	if s.bare {
		delete(live.Object, "status")
	}
	c.record(id, "answered")
	if s.ghosts {
		time.AfterFunc(time.Second, func() { c.sendGhosts(obj) })
	}
	if s.readyAfter == 0 && !s.never {
		c.record(id, "ready")
	} else if !s.never {
		time.AfterFunc(s.readyAfter, func() { c.becomeReady(obj) })
	} else if s.failsAfter > 0 {
		time.AfterFunc(s.failsAfter, func() { c.tell(failedObject(obj)) })
	}
	return live, nil
}

func (c *scripted) nextError(id object.ID, s script) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tries == nil {
		c.tries = map[object.ID]int{}
	}
	n := c.tries[id]
	c.tries[id]++
	if n < len(s.errs) {
		return s.errs[n]
	}
	return nil
}

func (c *scripted) becomeReady(obj *unstructured.Unstructured) {
	c.record(apply.Meta(obj).ID, "ready")
	c.tell(liveObject(obj, true))
}

// sendGhosts sends stale events that report an object as ready: one of an
// earlier object of the same name, and one from before its last change.
func (c *scripted) sendGhosts(obj *unstructured.Unstructured) {
	other := liveObject(obj, true)
	other.SetUID("somebody else")
	older := liveObject(obj, true)
	older.SetGeneration(0)
	c.tell(other)
	c.tell(older)
}

// tell sends a change of an object to the watches.
func (c *scripted) tell(live *unstructured.Unstructured) {
	c.send(kube.WatchEvent{Objects: []*unstructured.Unstructured{live}})
}

// send sends a change of one object to the watches that cover it.
func (c *scripted) send(change kube.WatchEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := change.Objects[0]
	for _, w := range c.watches {
		if w.covers(apply.Meta(obj).ID) { // receivers may change the object
			change.Objects = []*unstructured.Unstructured{obj.DeepCopy()}
			w.changes <- change
		}
	}
}

// put stores a live object. The caller holds mu, if a run may be reading.
func (c *scripted) put(id object.ID, obj *unstructured.Unstructured) {
	if c.live == nil {
		c.live = map[object.ID]*unstructured.Unstructured{}
	}
	c.live[id] = obj
}

func (c *scripted) Get(_ context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := c.live[object.ID{Group: kind.Resource.Group, Kind: kind.Resource.Resource, Namespace: namespace, Name: name}]
	if obj == nil {
		return nil, apierrors.NewNotFound(kind.Resource.GroupResource(), name)
	}
	return obj.DeepCopy(), nil
}

func (c *scripted) List(_ context.Context, kind kube.Kind, namespace string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	if c.unlistable != nil {
		if err := c.unlistable(kind.Resource.Resource); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*unstructured.Unstructured
	for id, obj := range c.live {
		if id.Kind == kind.Resource.Resource && id.Namespace == namespace {
			found = append(found, obj.DeepCopy())
		}
	}
	return found, nil
}

func (c *scripted) Logs(context.Context, object.ID, string, kube.LogOptions) ([]string, error) {
	return nil, nil
}

func (c *scripted) HasEndpoints(context.Context, object.ID) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.backed == nil || c.backed(), nil
}

func (c *scripted) Versions(gk schema.GroupKind) []string {
	if c.served != nil && !c.served(gk.Kind) {
		return nil
	}
	return []string{"v1"}
}

func (c *scripted) Delete(context.Context, kube.Kind, *unstructured.Unstructured, kube.DeleteOptions) error {
	return nil
}

func (c *scripted) NamespacedKinds() []schema.GroupVersionKind { return nil }

func (c *scripted) Claim(_ context.Context, _ kube.Kind, live *unstructured.Unstructured, _ *fieldpath.Set, _ string) (*unstructured.Unstructured, error) {
	return live, nil
}

func (c *scripted) Migrate(context.Context, kube.Kind, *unstructured.Unstructured, []string, string) error {
	return nil
}

func (c *scripted) Watch(ctx context.Context, kind kube.Kind, namespace string, query kube.Query, changed func(kube.WatchEvent)) {
	w := newWatching(kind, namespace, query)
	if first, ok := c.open(w); ok {
		changed(first)
		if first.Forbidden != nil {
			return
		}
	}
	for {
		select {
		case change := <-w.changes:
			changed(change)
		case <-ctx.Done():
			return
		}
	}
}

// open adds a watch, and returns its first event; false when it has none.
func (c *scripted) open(w watching) (kube.WatchEvent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = append(c.watches, w)
	if c.unwatchable != nil && c.unwatchable(w.namespace) {
		return kube.WatchEvent{Forbidden: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}, true
	}
	from := c.outside
	if c.lists {
		from = c.live
	}
	list, listed := kube.WatchEvent{Listed: true}, c.lists
	for id, obj := range from {
		if !w.covers(id) {
			continue
		}
		listed = true
		if obj != nil {
			list.Objects = append(list.Objects, obj.DeepCopy())
		}
	}
	return list, listed
}

// liveObject returns a live Pod: kstatus reads its Ready condition.
func liveObject(obj *unstructured.Unstructured, ready bool) *unstructured.Unstructured {
	live := obj.DeepCopy()
	live.SetUID(types.UID("uid-" + obj.GetName()))
	live.SetGeneration(1)
	live.SetResourceVersion("2")
	status, phase := "False", "Pending"
	if ready {
		status, phase = "True", "Running"
	}
	live.Object["status"] = map[string]any{
		"phase":      phase,
		"conditions": []any{map[string]any{"type": "Ready", "status": status}},
	}
	return live
}

// failedObject returns a Pod that has failed.
func failedObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	live := liveObject(obj, false)
	live.Object["status"].(map[string]any)["phase"] = "Failed"
	return live
}

// testPod returns a Pod in a layer, which may refer to a Secret that is in
// none.
func testPod(name string, wave int, secret string) map[string]any {
	container := map[string]any{"name": "c"}
	if secret != "" {
		container["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": secret}}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "shop", "annotations": map[string]any{
			"ordapply.dev/layer": fmt.Sprintf("app/l%d", wave), "ordapply.dev/wave": fmt.Sprint(wave),
		}},
		"spec": map[string]any{"containers": []any{container}},
	}
}

// plainPod returns a Pod that is in no layer.
func plainPod(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}},
	}
}

// withSecret returns a Pod that is in no layer and refers to a Secret.
func withSecret(name, secret string) map[string]any {
	p := testPod(name, 0, secret)
	delete(p["metadata"].(map[string]any), "annotations")
	return p
}

// dependent returns a Pod that is in no layer and depends on another one.
func dependent(name, on string) map[string]any {
	p := plainPod(name)
	p["metadata"].(map[string]any)["annotations"] = map[string]any{"ordapply.dev/depends-on": "/namespaces/shop/Pod/" + on}
	return p
}

func testSecret(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "shop"}}
}

func unstructuredResource(name string) schema.GroupResource {
	return schema.GroupResource{Resource: name}
}

func setDeleted(live *unstructured.Unstructured, at time.Time) {
	stamp := metav1.NewTime(at)
	live.SetDeletionTimestamp(&stamp)
}

func stepOf(plan *ordering.Plan, id object.ID) ordering.Step {
	return plan.Steps[slices.IndexFunc(plan.Steps, func(s ordering.Step) bool { return s.ID == id })]
}

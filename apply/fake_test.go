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
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// script says how a cluster under synctest treats one resource.
type script struct {
	latency    time.Duration // of its PATCH
	readyAfter time.Duration // after the PATCH; 0: the response is ready already
	never      bool          // never ready
	failsAfter time.Duration // with never: it says that it failed, so long after the PATCH
	rushed     bool          // the event that it is ready comes before the answer to its PATCH
	ghosts     bool          // a second later, events of the object's past say that it is ready
	errs       []error       // answers to the first PATCHes
	bare       bool          // a controller may give it a status, and does not
}

// scripted is a Cluster without a server, for what only time decides: the
// order of requests, timeouts and interrupts. Everything that an API server
// decides is tested on a real one.
type scripted struct {
	scripts map[object.ID]script
	// served tells whether a kind is served; nil: every kind is.
	served func(kind string) bool
	// backed tells whether Services have endpoints; nil: they have.
	backed func() bool
	// outside are objects that are not of the stream, by what they are like
	// when a watch first looks; nil: not there.
	outside map[object.ID]*unstructured.Unstructured
	// unwatchable tells where watches may not be; nil: nowhere.
	unwatchable func(namespace string) bool

	mu      sync.Mutex
	log     []entry
	watches []watching
	tries   map[object.ID]int
	looks   int // at discovery
	asked   int // about endpoints
	out     int // PATCHes that are not answered
	mostOut int
}

// watching is one open watch.
type watching struct {
	kind, namespace, name string // "" for any
	labels                string
	changes               chan apply.Change
}

func newWatching(kind apply.Kind, namespace string, query apply.Query) watching {
	name := strings.TrimPrefix(query.Fields, "metadata.name=")
	return watching{kind.Resource.Resource, namespace, name, query.Labels, make(chan apply.Change, 1000)}
}

func (w watching) covers(id object.ID) bool {
	return w.kind == id.Kind && (w.namespace == "" || w.namespace == id.Namespace) && (w.name == "" || w.name == id.Name)
}

// entry is one thing that happened, in order.
type entry struct {
	id   object.ID
	what string // "sent", "answered", "ready"
}

func (c *scripted) record(id object.ID, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, entry{id, what})
}

// count counts a PATCH as out until what it returns is called.
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

// happened is the log so far.
func (c *scripted) happened() []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

func (c *scripted) Kind(gvk schema.GroupVersionKind) (apply.Kind, bool) {
	if c.served != nil && !c.served(gvk.Kind) {
		return apply.Kind{}, false
	}
	return apply.Kind{Resource: gvk.GroupVersion().WithResource(gvk.Kind), Namespaced: !strings.HasSuffix(gvk.Kind, "WebhookConfiguration"), HasStatus: true}, true
}

func (c *scripted) Unreadable(schema.GroupVersion) error { return nil }

func (c *scripted) AllUnreadable() []schema.GroupVersion { return nil }

func (c *scripted) Refresh(context.Context, ...schema.GroupVersion) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return nil
}

// refreshes is how often discovery was asked.
func (c *scripted) refreshes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

func (c *scripted) Apply(ctx context.Context, _ apply.Kind, obj *unstructured.Unstructured, _ apply.PatchOptions) (*unstructured.Unstructured, error) {
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

// sendGhosts tells that the object is ready: an object of the same name that
// was there before it, and itself before its last change.
func (c *scripted) sendGhosts(obj *unstructured.Unstructured) {
	other := liveObject(obj, true)
	other.SetUID("somebody else")
	older := liveObject(obj, true)
	older.SetGeneration(0)
	c.tell(other)
	c.tell(older)
}

// tell sends a change to all watches.
func (c *scripted) tell(live *unstructured.Unstructured) {
	c.send(apply.Change{Objects: []*unstructured.Unstructured{live}})
}

// send sends a change of one object to the watches that cover it.
func (c *scripted) send(change apply.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := change.Objects[0]
	for _, w := range c.watches {
		if w.covers(apply.Meta(obj).ID) { // whoever gets an object may change it
			change.Objects = []*unstructured.Unstructured{obj.DeepCopy()}
			w.changes <- change
		}
	}
}

func (c *scripted) Get(context.Context, apply.Kind, string, string) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
}

func (c *scripted) List(context.Context, apply.Kind, string, apply.Query) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

func (c *scripted) Logs(context.Context, object.ID, string, apply.LogOptions) ([]string, error) {
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

func (c *scripted) Delete(context.Context, apply.Kind, *unstructured.Unstructured, apply.DeleteOptions) error {
	return nil
}

func (c *scripted) NamespacedKinds() []schema.GroupVersionKind { return nil }

func (c *scripted) Claim(_ context.Context, _ apply.Kind, live *unstructured.Unstructured, _ *fieldpath.Set, _ string) (*unstructured.Unstructured, error) {
	return live, nil
}

func (c *scripted) Migrate(context.Context, apply.Kind, *unstructured.Unstructured, []string, string) error {
	return nil
}

func (c *scripted) Watch(ctx context.Context, kind apply.Kind, namespace string, query apply.Query, changed func(apply.Change)) {
	w := newWatching(kind, namespace, query)
	c.mu.Lock()
	c.watches = append(c.watches, w)
	c.mu.Unlock()
	if c.unwatchable != nil && c.unwatchable(namespace) {
		changed(apply.Change{Forbidden: apierrors.NewForbidden(schema.GroupResource{}, "", nil)})
		return
	}
	for id, obj := range c.outside {
		if w.covers(id) {
			list := apply.Change{Listed: true}
			if obj != nil {
				list.Objects = append(list.Objects, obj.DeepCopy())
			}
			changed(list)
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

// liveObject is a Pod as a server would show it: kstatus reads its Ready
// condition.
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

// failedObject is a Pod that ended without success.
func failedObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	live := liveObject(obj, false)
	live.Object["status"].(map[string]any)["phase"] = "Failed"
	return live
}

// testPod is a Pod in a layer, which may name a Secret that nobody placed.
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

// plainPod is a Pod that no layer holds.
func plainPod(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}},
	}
}

// withSecret is a Pod that no layer holds and that names a Secret.
func withSecret(name, secret string) map[string]any {
	p := testPod(name, 0, secret)
	delete(p["metadata"].(map[string]any), "annotations")
	return p
}

// dependent is a Pod that no layer holds and that needs another to be ready.
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

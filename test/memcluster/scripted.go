package memcluster

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Script is how a resource reacts to its PATCH.
type Script struct {
	Latency    time.Duration              // of its PATCH
	ReadyAfter time.Duration              // after the PATCH; 0: the response is ready already
	Never      bool                       // never ready
	FailsAfter time.Duration              // with Never: it reports failure, this long after the PATCH
	Rushed     bool                       // the event that it is ready precedes the answer to its PATCH
	Ghosts     bool                       // a second later, stale events report it as ready
	Errs       []error                    // answers to the first PATCHes
	Bare       bool                       // its kind has a status that no controller writes
	Answer     *unstructured.Unstructured // the object in the answer; nil: that of the PATCH with a status
}

// Scripted is a Store for behaviour that depends on time, under testing/synctest: every
// resource reacts to its PATCH and to its DELETE as its script says, and watches report the
// test's objects. The zero value is an empty cluster. A PATCH stores nothing.
type Scripted struct {
	Store
	Scripts map[object.ID]Script
	Ends    map[object.ID]End
	// Serves reports whether a kind is served; nil: every kind is.
	Serves func(kind string) bool
	// Backed reports whether Services have ready endpoints; nil: they have.
	Backed func() bool
	// Outside are objects outside the stream, as a watch first lists them;
	// nil: it does not exist.
	Outside map[object.ID]*unstructured.Unstructured
	// Uncollected is set for a cluster without a garbage collector: an object that is deleted in
	// foreground stays until it is deleted in background.
	Uncollected bool
	// Lists is set when each watch first lists the stored objects.
	Lists bool
	// ContainerLog returns the lines that a container has logged; nil: none.
	ContainerLog func(pod object.ID, container string, previous bool) []string

	Counts // of requests
	log    []Entry
	watches
}

// Counts counts requests.
type Counts struct {
	Endpoints   int               // requests whether a Service has endpoints
	MostPatches int               // the most PATCHes that were in flight at a time
	Deletes     map[object.ID]int // DELETEs, by object
	Foreground  []object.ID       // of DELETEs with foreground propagation
	patches     map[object.ID]int // PATCHes, by object
	inFlight    int               // PATCHes
}

// Entry is one action of a cluster.
type Entry struct {
	ID   object.ID
	What string // "sent", "answered", "ready", "gone"
}

func (c *Scripted) record(id object.ID, what string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.log = append(c.log, Entry{id, what})
}

// count counts a PATCH as in flight until the returned function is called.
func (c *Scripted) count() func() {
	add := func(n int) {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.inFlight += n
		c.MostPatches = max(c.MostPatches, c.inFlight)
	}
	add(1)
	return func() { add(-1) }
}

// Happened returns the actions so far.
func (c *Scripted) Happened() []Entry {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.log)
}

// Kind implements kube.Cluster: every kind has a status.
func (c *Scripted) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, served := c.Store.Kind(gvk)
	kind.HasStatus = true
	return kind, served && (c.Serves == nil || c.Serves(gvk.Kind))
}

// Versions implements kube.Cluster.
func (c *Scripted) Versions(gk schema.GroupKind) []string {
	if _, served := c.Kind(gk.WithVersion("v1")); !served {
		return nil
	}
	return []string{"v1"}
}

// Refreshes returns the number of discovery requests.
func (c *Scripted) Refreshes() int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(c.Log), func(line string) bool { return line != "discover" }))
}

// Apply implements kube.Cluster with the script of the object.
func (c *Scripted) Apply(ctx context.Context, _ kube.Kind, obj *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	id := kube.Meta(obj).ID
	s := c.Scripts[id]
	c.record(id, "sent")
	if err := c.hang(ctx, "apply"); err != nil {
		return nil, err
	}
	defer c.count()()
	if s.Rushed {
		time.AfterFunc(s.Latency/2, func() { c.Tell(LiveObject(obj, true)) })
	}
	select {
	case <-time.After(s.Latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := c.nextError(id, s); err != nil {
		return nil, err
	}
	live := LiveObject(obj, s.ReadyAfter == 0 && !s.Never)
	live.SetResourceVersion("1")
	if s.Bare {
		delete(live.Object, "status")
	}
	if s.Answer != nil {
		live = s.Answer.DeepCopy()
	}
	c.record(id, "answered")
	c.continues(obj, s)
	return live, nil
}

// continues plays the script's part after the PATCH.
func (c *Scripted) continues(obj *unstructured.Unstructured, s Script) {
	if s.Ghosts {
		time.AfterFunc(time.Second, func() { c.sendGhosts(obj) })
	}
	switch {
	case s.Never && s.FailsAfter > 0:
		time.AfterFunc(s.FailsAfter, func() { c.Tell(failedObject(obj)) })
	case s.Never:
	case s.ReadyAfter == 0:
		c.record(kube.Meta(obj).ID, "ready")
	default:
		time.AfterFunc(s.ReadyAfter, func() { c.becomeReady(obj) })
	}
}

func (c *Scripted) nextError(id object.ID, s Script) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.patches == nil {
		c.patches = map[object.ID]int{}
	}
	n := c.patches[id]
	c.patches[id]++
	if n < len(s.Errs) {
		return s.Errs[n]
	}
	return nil
}

func (c *Scripted) becomeReady(obj *unstructured.Unstructured) {
	c.record(kube.Meta(obj).ID, "ready")
	c.Tell(LiveObject(obj, true))
}

// sendGhosts sends stale events that report an object as ready: one of an
// earlier object of the same name, and one from before its last change.
func (c *Scripted) sendGhosts(obj *unstructured.Unstructured) {
	other := LiveObject(obj, true)
	other.SetUID("another object")
	older := LiveObject(obj, true)
	older.SetGeneration(0)
	c.Tell(other)
	c.Tell(older)
}

// Live returns the stored object itself; nil without one. The caller holds Mu, if a run
// may use it.
func (c *Scripted) Live(id object.ID) *unstructured.Unstructured { return c.Objects[KeyOf(id)] }

// Put stores an object as it is. The caller holds Mu, if a run may be reading.
func (c *Scripted) Put(obj *unstructured.Unstructured) {
	c.start()
	c.Objects[KeyOf(kube.Meta(obj).ID)] = obj
}

// Logs implements kube.Cluster with the log of a container.
func (c *Scripted) Logs(_ context.Context, pod object.ID, container string, o kube.LogOptions) ([]string, error) {
	if c.Refuse != nil {
		if err := c.Refuse("get", kube.CoreKind("pods/log"), pod.Namespace, pod.Name); err != nil {
			return nil, err
		}
	}
	if c.ContainerLog == nil {
		return nil, nil
	}
	lines := c.ContainerLog(pod, container, o.Previous)
	return lines[max(0, len(lines)-o.Lines):], nil
}

// HasEndpoints implements kube.Cluster.
func (c *Scripted) HasEndpoints(context.Context, object.ID) (bool, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Endpoints++
	return c.Backed == nil || c.Backed(), nil
}

// Claim implements kube.Cluster: it changes nothing.
func (c *Scripted) Claim(_ context.Context, _ kube.Kind, live *unstructured.Unstructured, _ *fieldpath.Set, _ string) (*unstructured.Unstructured, error) {
	return live, nil
}

// Migrate implements kube.Cluster: it changes nothing.
func (c *Scripted) Migrate(context.Context, kube.Kind, *unstructured.Unstructured, applyset.OwnershipMigration, string) error {
	return nil
}

// Join implements kube.Cluster: it changes nothing.
func (c *Scripted) Join(_ context.Context, _ kube.Kind, live *unstructured.Unstructured, _ string, _ []metav1.ManagedFieldsEntry, _ string) (*unstructured.Unstructured, error) {
	return live, nil
}

// LiveObject returns an object with the status of a Pod, which is ready or pending.
func LiveObject(obj *unstructured.Unstructured, ready bool) *unstructured.Unstructured {
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
	live := LiveObject(obj, false)
	live.Object["status"].(map[string]any)["phase"] = "Failed"
	return live
}

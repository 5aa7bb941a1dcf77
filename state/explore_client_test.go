package state

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// client is the connection of one run to the store. Every request waits there
// until the exploration lets it proceed, completely or only as far as the
// server.
type client struct {
	kube.Cluster // only the methods below are called
	world        *world
	actor        *actor
	fence        kube.Fence // nil: none
}

// request is a waiting request.
type request struct {
	actor  *actor
	verb   string
	kind   kube.Kind
	name   string // namespace/name
	holder string // the holder that a write to a Lease sets
	fence  kube.Fence
	grant  chan verdict
	born   int // number of requests that were carried out before it was sent
	text   string

	podFails bool // of the Job that it applies
}

// verdict is the outcome of a request.
type verdict int

const (
	granted verdict = iota
	lost            // it is carried out, and the answer is lost
	crashed         // it is carried out, and its run is killed before the answer
	never           // its run has ended
)

var errCrashed = errors.New("the run was killed")

func (q *request) isWrite() bool {
	return !slices.Contains([]string{"get", "list", "discover", "dry-run"}, q.verb)
}

func (q *request) isOf(resource string) bool { return q.kind.Resource.Resource == resource }

// at returns the key of the store that the request is about.
func (q *request) at() string { return q.kind.Resource.GroupResource().String() + "/" + q.name }

func (q *request) isLease() bool { return q.isOf("leases") }

// label names the request in a trace; requests of one run with the same label
// are sequential.
func (q *request) label() string {
	if q.text == "" {
		q.text = q.labelled()
	}
	return q.text
}

func (q *request) labelled() string {
	verb := q.verb
	if q.isLease() && q.isWrite() {
		switch q.holder {
		case "":
			verb = "release"
		case q.actor.identity:
			verb = "renew"
		default:
			verb = "take"
		}
	}
	return q.actor.name + ": " + strings.TrimSpace(verb+" "+q.kind.Resource.GroupResource().String()+" "+q.name)
}

// ask sends one request when it is its turn.
func ask[T any](ctx context.Context, c *client, q request, do func() (T, error)) (answer T, err error) {
	return askWith(ctx, c, &q, do)
}

// askWith does the same with a request that its caller reads afterwards.
func askWith[T any](ctx context.Context, c *client, q *request, do func() (T, error)) (answer T, err error) {
	q.actor, q.fence = c.actor, c.fence
	how, err := c.world.sent(ctx, q)
	if err != nil {
		return answer, err
	}
	if c.world.store.Gone[kindOf(q.kind)] && q.verb != "discover" {
		err, c.actor.blind = notServedNow(*q), true
	} else {
		answer, err = do()
	}
	c.world.note(q, err)
	switch how {
	case lost:
		var none T
		answer, err = none, &url.Error{Op: q.verb, URL: q.name, Err: syscall.ECONNRESET}
	case crashed:
		c.world.kill(c.actor)
		return answer, errCrashed
	}
	c.world.learn(q, answer, err)
	return answer, err
}

// sent returns when a request is to be carried out, with its outcome. The
// checks that the product makes right before it sends anything are made then;
// when they block, the request waits for another turn.
func (w *world) sent(ctx context.Context, q *request) (verdict, error) {
	how := granted
	for {
		if how = max(how, w.wait(ctx, q)); how == never {
			return how, errCrashed
		}
		turn := w.turn()
		if err := mayBeSent(ctx, q); err != nil {
			return how, &url.Error{Op: q.verb, URL: q.name, Err: err}
		}
		if turn == w.turn() {
			return how, nil
		}
	}
}

// mayBeSent makes the checks of the product that come last before a request.
func mayBeSent(ctx context.Context, q *request) error {
	if ctx.Err() != nil || !q.isWrite() || q.fence == nil {
		return ctx.Err()
	}
	return q.fence(ctx)
}

// kindOf returns the kind of a resource; only Widgets can become unserved in
// the exploration.
func kindOf(kind kube.Kind) schema.GroupKind {
	if kind.Resource.Resource == "widgets" {
		return widget
	}
	return schema.GroupKind{}
}

// notServedNow returns the bare 404 of a path that the API server does not
// serve.
func notServedNow(q request) error {
	_, name, _ := strings.Cut(q.name, "/")
	return apierrors.NewGenericServerResponse(404, q.verb, q.kind.Resource.GroupResource(), name, "404 page not found", 0, true)
}

func at(verb string, kind kube.Kind, namespace, name string) request {
	return request{verb: verb, kind: kind, name: strings.TrimSuffix(namespace+"/"+name, "/")}
}

// Fenced implements kube.Cluster.
func (c *client) Fenced(fence kube.Fence) kube.Cluster {
	return &client{world: c.world, actor: c.actor, fence: fence}
}

// WithOwnConnection implements kube.Cluster.
func (c *client) WithOwnConnection() kube.Cluster { return c.Fenced(nil) }

func (c *client) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, _ := c.world.store.Kind(gvk)
	return kind, !c.actor.unserved[gvk.GroupKind()]
}

func (c *client) Versions(gk schema.GroupKind) []string {
	if c.actor.unserved[gk] {
		return nil
	}
	return []string{"v1"}
}

func (c *client) Unreadable(schema.GroupVersion) error { return nil }

func (c *client) AllUnreadable() []schema.GroupVersion { return nil }

func (c *client) NamespacedKinds() []schema.GroupVersionKind { return nil }

// Allowed denies the search for members of a set without records, which no history has:
// its requests would multiply the histories.
func (c *client) Allowed(context.Context, kube.Permission) (bool, error) { return false, nil }

func (c *client) StoredKinds() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ServiceAccount"}, jobKind}
	if !c.actor.unserved[widget] {
		kinds = append(kinds, widget.WithVersion("v1"))
	}
	return kinds
}

// Refresh reads discovery. A run that does not refresh keeps the old one, as
// the real client does.
func (c *client) Refresh(ctx context.Context, gvs ...schema.GroupVersion) error {
	if !slices.ContainsFunc(gvs, func(gv schema.GroupVersion) bool { return gv.Group == widget.Group }) {
		return nil
	}
	_, err := ask(ctx, c, request{verb: "discover"}, func() (bool, error) {
		c.actor.unserved = map[schema.GroupKind]bool{widget: c.world.store.Gone[widget]}
		c.actor.blind = c.actor.blind || c.world.store.Gone[widget]
		return c.world.store.Gone[widget], nil
	})
	return err
}

func (c *client) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	q := at("apply", kind, obj.GetNamespace(), obj.GetName())
	if o.DryRun {
		q.verb = "dry-run"
	}
	return askWith(ctx, c, &q, func() (*unstructured.Unstructured, error) {
		live, err := c.world.store.Apply(ctx, kind, obj, o)
		if err == nil && !o.DryRun && obj.GetKind() == jobKind.Kind {
			defer c.world.runJob(q.at(), q.podFails)
		}
		return live, err
	})
}

func (c *client) DryRunCreate(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) error {
	_, err := ask(ctx, c, at("dry-run", kind, obj.GetNamespace(), obj.GetName()), func() (bool, error) {
		return true, c.world.store.DryRunCreate(ctx, kind, obj)
	})
	return err
}

func (c *client) Create(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	q := at("create", kind, obj.GetNamespace(), obj.GetName())
	q.holder = leaseHolder(obj)
	return ask(ctx, c, q, func() (*unstructured.Unstructured, error) { return c.world.store.Create(ctx, kind, obj) })
}

func (c *client) Update(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	q := at("update", kind, obj.GetNamespace(), obj.GetName())
	q.holder = leaseHolder(obj)
	return ask(ctx, c, q, func() (*unstructured.Unstructured, error) { return c.world.store.Update(ctx, kind, obj) })
}

// leaseHolder returns the holder of a Lease; "" without one.
func leaseHolder(lease *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return holder
}

func (c *client) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return ask(ctx, c, at("get", kind, namespace, name), func() (*unstructured.Unstructured, error) {
		return c.world.store.Get(ctx, kind, namespace, name)
	})
}

func (c *client) List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	q := at("list", kind, namespace, "")
	q.name = strings.TrimSpace(q.name + " " + query.Fields)
	return ask(ctx, c, q, func() ([]*unstructured.Unstructured, error) {
		return c.world.store.List(ctx, kind, namespace, query)
	})
}

func (c *client) Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	_, err := ask(ctx, c, at("delete", kind, live.GetNamespace(), live.GetName()), func() (bool, error) {
		return true, c.world.store.Delete(ctx, kind, live, o)
	})
	return err
}

func (c *client) Migrate(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error {
	_, err := ask(ctx, c, at("migrate", kind, live.GetNamespace(), live.GetName()), func() (bool, error) {
		return true, c.world.store.Migrate(ctx, kind, live, migration, manager)
	})
	return err
}

func (c *client) SetManagedFields(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error {
	if !c.world.store.ServerSide.On {
		return c.Migrate(ctx, kind, live, applyset.OwnershipMigration{}, manager)
	}
	_, err := ask(ctx, c, at("migrate", kind, live.GetNamespace(), live.GetName()), func() (bool, error) {
		return true, c.world.store.SetManagedFields(ctx, kind, live, entries, manager)
	})
	return err
}

func (c *client) Join(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return ask(ctx, c, at("join", kind, live.GetNamespace(), live.GetName()), func() (*unstructured.Unstructured, error) {
		return c.world.store.Join(ctx, kind, live, set, entries, manager)
	})
}

func (c *client) Release(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, owner string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return ask(ctx, c, at("release", kind, live.GetNamespace(), live.GetName()), func() (*unstructured.Unstructured, error) {
		return c.world.store.Release(ctx, kind, live, owner, entries, manager)
	})
}

// Watch reports changes at once. It is not a request that could be reordered:
// runs only ever wait for its reports.
func (c *client) Watch(ctx context.Context, kind kube.Kind, namespace string, query kube.Query, changed func(kube.WatchEvent)) {
	seen := map[string]*unstructured.Unstructured{}
	tell := func(change kube.WatchEvent) {
		c.world.sees(c.actor, kind, change)
		changed(change)
	}
	for first := true; ; first = false {
		now, next := c.world.store.Watched(kind, namespace, query)
		if first {
			tell(kube.WatchEvent{Listed: true, Objects: now})
		}
		there := map[string]*unstructured.Unstructured{}
		for _, obj := range now {
			at := obj.GetNamespace() + "/" + obj.GetName()
			there[at] = obj
			if old := seen[at]; !first && (old == nil || old.GetResourceVersion() != obj.GetResourceVersion()) {
				tell(kube.WatchEvent{Objects: []*unstructured.Unstructured{obj}})
			}
		}
		for at, old := range seen {
			if there[at] == nil {
				tell(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{old}})
			}
		}
		seen = there
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

package state

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The objects of the explored streams, by key of the store.
const (
	keyA = "configmaps/shop/a"
	keyB = swapKey
	keyC = "widgets.example.com/shop/c"
	keyJ = "jobs.batch/shop/j" // recreated when its template changes
	keyL = "configmaps/shop/l" // of no stream
)

// wish is a stream of some of the objects, and how it is applied.
type wish struct {
	keys  []string
	hooks []hook.Event // of which it has a Job
	adopt applyset.Adopt
	undo  bool // it is rolled back when it fails
	set   object.ID
	runs  map[string]Run // by value of the objects
}

// wanting returns a stream of objects and of one Job for each hook event.
func wanting(t *testing.T, keys ...string) wish {
	w := wish{keys: keys, set: shopSet}
	w.plan(t)
	return w
}

// plan makes the runs of a wish.
func (w *wish) plan(t *testing.T) {
	w.runs = map[string]Run{}
	for _, value := range []string{"before", "run 1", "run 2", "run 3", "later"} {
		var inputs []apply.Input
		for _, key := range w.keys {
			inputs = append(inputs, apply.Input{Object: exploredObject(key, value), Source: "test"})
		}
		for _, event := range w.hooks {
			inputs = append(inputs, apply.Input{Object: exploredHook(event, value), Source: "test", Hook: true})
		}
		r := runFor(t, inputs)
		r.Parent, r.Kind, r.Namespace = w.set, parentKind(w.set), recordsOf(w.set)
		r.Applier.Membership.Adopt, r.Applier.NoDiagnosis, r.Remover.NoDiagnosis = w.adopt, true, true
		w.runs[value] = r
	}
}

// parentKind returns the kind of a set's parent.
func parentKind(set object.ID) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: set.Group, Version: "v1", Kind: set.Kind}
}

// clusterSet is a set whose parent is cluster-scoped; its records are in Namespace home.
var clusterSet = object.ID{Group: "ordapply.dev", Kind: "ApplySet", Name: "shop"}

const home = "home"

// recordsOf returns the namespace of a set's records; "" for its own.
func recordsOf(set object.ID) string {
	if set.Namespace == "" {
		return home
	}
	return ""
}

// withHooks returns the stream with a Job for each event.
func (w wish) withHooks(t *testing.T, events ...hook.Event) wish {
	w.hooks = events
	w.plan(t)
	return w
}

// adopting returns the stream with another policy of adoption.
func (w wish) adopting(t *testing.T, which applyset.Adopt) wish {
	w.adopt = which
	w.plan(t)
	return w
}

// of returns the stream for another set.
func (w wish) of(t *testing.T, set object.ID) wish {
	w.set = set
	w.plan(t)
	return w
}

// undone returns the stream as it is applied with --rollback-on-failure.
func (w wish) undone() wish {
	w.undo = true
	return w
}

func (w wish) apply(name string) *actor { return w.actor(name, false) }

func (w wish) takeOver(name string) *actor { return w.actor(name, true) }

func (w wish) actor(name string, takeOver bool) *actor {
	a := &actor{name: name, sort: applies, set: w.set, stream: w.keys, says: map[string]string{}}
	for _, key := range w.keys {
		a.says[key] = name
	}
	a.do = func(ctx context.Context, cluster kube.Cluster) error {
		r := on(cluster, w.runs[name])
		r.TakeOver = takeOver
		if w.undo {
			r.Undo = func(_ context.Context, to *history.Revision) (Run, error) {
				a.goesBack(to)
				return backTo(r, to), nil
			}
			r.OnRemoving = func(*ordering.Plan) { a.removes() }
		}
		_, err := r.Do(ctx)
		if undone, ok := errors.AsType[*UndoneError](err); ok && undone.Err == nil {
			a.undone = true
			if undone.Revision == 0 {
				a.removes()
			}
		}
		return err
	}
	return a
}

// on returns a run on a cluster.
func on(cluster kube.Cluster, r Run) Run {
	r.Cluster, r.Applier.Cluster, r.Remover.Cluster = cluster, cluster, cluster
	r.Applier.Workers, r.Remover.Workers, r.Applier.KindTimeout = 3, 3, -1
	r.Applier.WaveTimeout, r.Remover.WaveTimeout = waveTimeout, waveTimeout
	r.LockTimeout = time.Hour
	return r
}

// waveTimeout is longer than two suspensions.
const waveTimeout = time.Minute

// backTo returns the run that goes back to a revision, as the commands do.
func backTo(r Run, to *history.Revision) Run {
	back := Run{SetRef: r.SetRef, Applier: r.Applier, Remover: r.Remover, Prune: r.Prune}
	back.Plan, back.Stream = to.Plan, &apply.Stream{Resources: to.Resources, Objects: to.Objects(), Hooks: to.Hooks}
	back.Metadata.Revision = history.Revision{Options: to.Options, OrderFile: to.OrderFile, Rollback: to.Number}
	return back
}

// removes makes a run one that deletes its objects.
func (a *actor) removes() { a.undoing, a.says, a.deleted = true, map[string]string{}, map[string]int{} }

// goesBack makes a run one that undoes another.
func (a *actor) goesBack(to *history.Revision) {
	a.undoing, a.says, a.deleted = true, map[string]string{}, map[string]int{}
	for id, obj := range to.Objects() {
		a.says[memcluster.KeyOf(id)] = valueOf(obj)
	}
}

// rollBack returns a run that rolls the set back, as ordapply rollback does.
func rollBack(name string) *actor {
	a := &actor{name: name, sort: rollsBack, set: shopSet, says: map[string]string{}}
	a.do = func(ctx context.Context, cluster kube.Cluster) error {
		ref := SetRef{Cluster: cluster, Parent: shopSet, Kind: parentKind(shopSet)}.withDefaults()
		set, err := ref.open(ctx, true)
		if err != nil {
			return err
		}
		target, err := ref.history(set).RollbackTarget(ctx)
		if err != nil {
			return err
		}
		to, err := ref.history(set).ReadRollbackTarget(ctx, target)
		if err != nil {
			return err
		}
		a.goesBack(to)
		r := on(cluster, Run{SetRef: ref, Applier: apply.Applier{NoDiagnosis: true}, Remover: remove.Remover{NoDiagnosis: true}, Prune: true})
		_, err = backTo(r, to).Do(ctx)
		return err
	}
	return a
}

// deleteSet returns a run that deletes the usual set.
func deleteSet(name string) *actor { return deleting(shopSet)(name) }

// deleting returns a run that deletes a set.
func deleting(set object.ID) func(name string) *actor {
	return func(name string) *actor {
		return &actor{name: name, sort: deletes, set: set, do: func(ctx context.Context, cluster kube.Cluster) error {
			_, err := SetDeletion{
				SetRef:  SetRef{Cluster: cluster, Parent: set, Kind: parentKind(set), Namespace: recordsOf(set), LockTimeout: time.Hour},
				Remover: remove.Remover{Cluster: cluster, Workers: 3, WaveTimeout: waveTimeout, NoDiagnosis: true},
				Hooks:   &apply.Applier{Cluster: cluster, Workers: 3, WaveTimeout: waveTimeout, NoDiagnosis: true},
			}.Do(ctx)
			return err
		}}
	}
}

// exploredObject returns one of the objects, with a value.
func exploredObject(key, value string) *unstructured.Unstructured {
	gvk := map[string]schema.GroupVersionKind{
		keyA: {Version: "v1", Kind: "ConfigMap"}, keyB: {Version: "v1", Kind: "ServiceAccount"}, keyC: widget.WithVersion("v1"), keyJ: jobKind,
		keyL: {Version: "v1", Kind: "ConfigMap"},
	}[key]
	place := strings.Split(key, "/")
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"v": value}}}
	if key == keyJ {
		obj.Object = jobOf(value)
		obj.SetAnnotations(map[string]string{"ordapply.dev/on-immutable": "recreate"})
	}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(place[1])
	obj.SetName(place[2])
	return obj
}

var jobKind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// jobOf returns a Job, whose template cannot be changed.
func jobOf(value string) map[string]any {
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"v": value}}}}}
}

// exploredHook returns the Job of a hook event, of the same name.
func exploredHook(event hook.Event, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: jobOf(value)}
	obj.SetGroupVersionKind(jobKind)
	obj.SetNamespace(shopSet.Namespace)
	obj.SetName(string(event))
	obj.SetAnnotations(map[string]string{hook.EventAnnotation: string(event)})
	return obj
}

// eventOf returns the hook event of the Job under a key; "" for any other object.
func eventOf(key string) hook.Event {
	name, isJob := strings.CutPrefix(key, "jobs.batch/shop/")
	for _, event := range hook.Events() {
		if isJob && name == string(event) {
			return event
		}
	}
	return ""
}

// valueOf returns the value of an object.
func valueOf(obj *unstructured.Unstructured) string {
	path := []string{"data", "v"}
	if obj.GetKind() == jobKind.Kind {
		path = []string{"spec", "template", "metadata", "annotations", "v"}
	}
	value, _, _ := unstructured.NestedString(obj.Object, path...)
	return value
}

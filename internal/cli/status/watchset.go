package status

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// watchSet is the watches that are open. Its methods belong to one goroutine, to which
// the watches send their events.
type watchSet struct {
	watch     func(ctx context.Context, v kube.View, changed func(kube.WatchEvent))
	open      map[kube.View]*activeWatch
	forbidden map[kube.View]bool
	events    chan keyedWatchEvent
}

func newWatchSet(watch func(context.Context, kube.View, func(kube.WatchEvent))) *watchSet {
	return &watchSet{watch: watch, open: map[kube.View]*activeWatch{}, forbidden: map[kube.View]bool{}, events: make(chan keyedWatchEvent)}
}

// has reports whether a watch is still open.
func (w *watchSet) has(o *activeWatch) bool { return w.open[o.View] == o }

// activeWatch is a watched view and the objects it has shown.
type activeWatch struct {
	kube.View
	changeSignal bool      // the set must be read again when it changes
	service      object.ID // the Service whose endpoints it shows, or zero
	end          context.CancelFunc
	listed       bool
	objects      map[object.ID]*unstructured.Unstructured
}

// keyedWatchEvent is a change together with the watch that reported it.
type keyedWatchEvent struct {
	from *activeWatch
	kube.WatchEvent
}

// ofMembers reports whether the view shows members.
func (o *activeWatch) ofMembers() bool { return !o.changeSignal && o.service == object.ID{} }

// record stores a change. Only changes of members are stored.
func (o *activeWatch) record(c kube.WatchEvent) {
	if !o.ofMembers() {
		return
	}
	if c.Listed {
		o.listed, o.objects = true, map[object.ID]*unstructured.Unstructured{}
	}
	for _, obj := range c.Objects {
		if id := kube.Meta(obj).ID; c.Deleted {
			delete(o.objects, id)
		} else {
			o.objects[id] = obj
		}
	}
}

// objects returns all objects in the views of members; false if one of them has
// not been listed yet, or there are none.
func (w *watchSet) objects() ([]*unstructured.Unstructured, bool) {
	if len(w.open) == 0 {
		return nil, false
	}
	var live []*unstructured.Unstructured
	for _, o := range w.open {
		if o.ofMembers() && !o.listed {
			return nil, false
		}
		for _, obj := range o.objects {
			live = append(live, obj)
		}
	}
	return live, true
}

// neededWatches returns the views to watch; false if they cannot show the whole set.
func (w *watchSet) neededWatches(snapshot *setSnapshot, services []object.ID) ([]activeWatch, bool) {
	var views []activeWatch
	whole := !snapshot.incomplete
	add := func(o activeWatch) {
		whole = whole && !w.forbidden[o.View]
		views = append(views, o)
	}
	for _, v := range snapshot.changeSignals {
		add(activeWatch{View: v, changeSignal: true})
	}
	for _, v := range snapshot.members {
		if apart := snapshot.perNamespace(v); w.forbidden[v] && len(apart) > 0 {
			for _, v := range apart {
				add(activeWatch{View: v})
			}
			continue
		}
		add(activeWatch{View: v})
	}
	for _, service := range services {
		add(activeWatch{View: snapshot.backends(service), service: service})
	}
	return views, whole
}

// arrange opens the views that a set and its Services need and closes the others. If
// they cannot show the whole set, it closes all and returns false.
func (w *watchSet) arrange(ctx context.Context, snapshot *setSnapshot, services []object.ID) bool {
	views, whole := w.neededWatches(snapshot, services)
	if !whole {
		w.close()
		return false
	}
	wanted := map[kube.View]bool{}
	for _, v := range views {
		if wanted[v.View] = true; w.open[v.View] == nil {
			w.begin(ctx, v)
		}
	}
	for view, o := range w.open {
		if !wanted[view] {
			o.end()
			delete(w.open, view)
		}
	}
	return true
}

// begin opens a view.
func (w *watchSet) begin(ctx context.Context, v activeWatch) {
	ctx, v.end = context.WithCancel(ctx)
	v.objects = map[object.ID]*unstructured.Unstructured{}
	o, news := &v, w.events
	w.open[o.View] = o
	go w.watch(ctx, o.View, func(c kube.WatchEvent) {
		select {
		case news <- keyedWatchEvent{o, c}:
		case <-ctx.Done():
		}
	})
}

// close closes all watches.
func (w *watchSet) close() {
	for view, o := range w.open {
		o.end()
		delete(w.open, view)
	}
}

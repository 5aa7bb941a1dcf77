package setstatus

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// activeWatch is a watched view and the objects it has shown.
type activeWatch struct {
	kube.View
	sign    bool      // the set must be read again when it changes
	service object.ID // the Service whose endpoints it shows, or zero
	end     context.CancelFunc
	listed  bool
	objects map[object.ID]*unstructured.Unstructured
}

// keyedWatchEvent is a change together with the watch that reported it.
type keyedWatchEvent struct {
	from *activeWatch
	kube.WatchEvent
}

// ofMembers reports whether the view shows members.
func (o *activeWatch) ofMembers() bool { return !o.sign && o.service == object.ID{} }

// record stores a change. Only changes of members are stored.
func (o *activeWatch) record(c kube.WatchEvent) {
	if !o.ofMembers() {
		return
	}
	if c.Listed {
		o.listed, o.objects = true, map[object.ID]*unstructured.Unstructured{}
	}
	for _, obj := range c.Objects {
		if id := apply.Meta(obj).ID; c.Deleted {
			delete(o.objects, id)
		} else {
			o.objects[id] = obj
		}
	}
}

// objects returns all objects in the views of members; false if one of them has
// not been listed yet, or there are none.
func (f *statusFollower) objects() ([]*unstructured.Unstructured, bool) {
	if len(f.open) == 0 {
		return nil, false
	}
	var live []*unstructured.Unstructured
	for _, o := range f.open {
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
func (f *statusFollower) neededWatches() ([]activeWatch, bool) {
	var views []activeWatch
	whole := !f.scene.incomplete
	add := func(o activeWatch) {
		whole = whole && !f.forbidden[o.View]
		views = append(views, o)
	}
	for _, v := range f.scene.changeSignals {
		add(activeWatch{View: v, sign: true})
	}
	for _, v := range f.scene.members {
		if apart := f.scene.perNamespace(v); f.forbidden[v] && len(apart) > 0 {
			for _, v := range apart {
				add(activeWatch{View: v})
			}
			continue
		}
		add(activeWatch{View: v})
	}
	for service := range f.services {
		add(activeWatch{View: f.scene.backends(service), service: service})
	}
	return views, whole
}

// arrange opens the wanted views and closes the others. If the set cannot be
// watched completely, it is polled instead.
func (f *statusFollower) arrange(ctx context.Context) {
	views, whole := f.neededWatches()
	if !whole {
		f.close()
		f.scheduleRefresh(f.refreshed.Add(pollInterval), true)
		return
	}
	wanted := map[kube.View]bool{}
	for _, v := range views {
		if wanted[v.View] = true; f.open[v.View] == nil {
			f.begin(ctx, v)
		}
	}
	for view, o := range f.open {
		if !wanted[view] {
			o.end()
			delete(f.open, view)
		}
	}
}

// begin opens a view.
func (f *statusFollower) begin(ctx context.Context, v activeWatch) {
	ctx, v.end = context.WithCancel(ctx)
	v.objects = map[object.ID]*unstructured.Unstructured{}
	o, news := &v, f.events
	f.open[o.View] = o
	go f.watch(ctx, o.View, func(c kube.WatchEvent) {
		select {
		case news <- keyedWatchEvent{o, c}:
		case <-ctx.Done():
		}
	})
}

// close closes all watches.
func (f *statusFollower) close() {
	for view, o := range f.open {
		o.end()
		delete(f.open, view)
	}
}

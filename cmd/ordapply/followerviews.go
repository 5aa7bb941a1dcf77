package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// opened is a view that is watched, and what it shows.
type opened struct {
	state.View
	sign    bool      // the set is to be read again when it changes
	service object.ID // whose endpoints it shows; zero else
	end     context.CancelFunc
	listed  bool
	objects map[object.ID]*unstructured.Unstructured
}

// sight is a change and the watch that saw it.
type sight struct {
	from *opened
	apply.Change
}

// ofMembers tells whether the view shows members.
func (o *opened) ofMembers() bool { return !o.sign && o.service == object.ID{} }

// take notes a change. Of what is no member nothing is kept.
func (o *opened) take(c apply.Change) {
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

// objects are all that the views of members show; false while one of them has
// not begun, or none can.
func (f *follower) objects() ([]*unstructured.Unstructured, bool) {
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

// wanted are the views by which the set can be followed; false when they cannot
// show all of it.
func (f *follower) wanted() ([]opened, bool) {
	var views []opened
	whole := !f.scene.incomplete
	add := func(o opened) {
		whole = whole && !f.forbidden[o.View]
		views = append(views, o)
	}
	for _, v := range f.scene.signs {
		add(opened{View: v, sign: true})
	}
	for _, v := range f.scene.members {
		if apart := f.scene.apart(v); f.forbidden[v] && len(apart) > 0 {
			for _, v := range apart {
				add(opened{View: v})
			}
			continue
		}
		add(opened{View: v})
	}
	for service := range f.services {
		add(opened{View: f.scene.backends(service), service: service})
	}
	return views, whole
}

// arrange watches all that is wanted and nothing else. What cannot be watched as
// a whole is read again instead.
func (f *follower) arrange(ctx context.Context) {
	views, whole := f.wanted()
	if !whole {
		f.close()
		f.lookBy(f.looked.Add(lookEvery), true)
		return
	}
	wanted := map[state.View]bool{}
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
func (f *follower) begin(ctx context.Context, v opened) {
	ctx, v.end = context.WithCancel(ctx)
	v.objects = map[object.ID]*unstructured.Unstructured{}
	o, news := &v, f.news
	f.open[o.View] = o
	go f.watch(ctx, o.View, func(c apply.Change) {
		select {
		case news <- sight{o, c}:
		case <-ctx.Done():
		}
	})
}

// close ends all watches.
func (f *follower) close() {
	for view, o := range f.open {
		o.end()
		delete(f.open, view)
	}
}

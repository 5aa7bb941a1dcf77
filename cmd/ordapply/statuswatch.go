package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// watchEnded is the end of a verb that goes on until it is interrupted. There is
// nothing to say of it.
type watchEnded struct{}

func (watchEnded) Error() string { return "" }

func (watchEnded) Is(target error) bool { return target == apply.ErrInterrupted }

// follow tells how a set does until it is interrupted.
func (f *statusFlags) follow(cmd *cobra.Command, o *observer) error {
	show, end := f.shower(cmd)
	defer end()
	reader := &rereader{observer: o}
	return (&follower{
		read: reader.read, show: show,
		watch: func(ctx context.Context, v state.View, changed func(apply.Change)) {
			o.target.cluster.Watch(ctx, v.Kind, v.Namespace, v.Query, changed)
		},
	}).follow(cmd.Context())
}

// rereader reads a set that is followed.
type rereader struct {
	*observer
	unserved []schema.GroupKind // when it was read last
}

// read reads the set, and where all of it is asked for its members too.
func (r *rereader) read(ctx context.Context, whole bool) (*scene, error) {
	r.rediscover(ctx)
	set, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	r.unserved = set.Unserved()
	s := &scene{
		signs:      []state.View{set.ParentView(), set.history.View()},
		members:    set.MemberViews(),
		apart:      set.Apart,
		incomplete: len(r.unserved) > 0,
		standing: func(live []*unstructured.Unstructured, now time.Time, found endpoints) *standing {
			return r.standing(set.Parent.ID, set.Sift(live), now, found)
		},
		found:    func(service object.ID) (bool, error) { return r.target.cluster.HasEndpoints(ctx, service) },
		backends: r.backends,
	}
	if whole {
		s.now, err = r.observeMembers(ctx, set, s.found)
	}
	return s, err
}

// rediscover looks whether the kinds that nobody served are served by now. What
// cannot be read stays as it was.
func (r *rereader) rediscover(ctx context.Context) {
	asked := map[string]bool{}
	for _, gk := range r.unserved {
		if !asked[gk.Group] {
			asked[gk.Group] = true
			_ = r.target.cluster.Refresh(ctx, schema.GroupVersion{Group: gk.Group})
		}
	}
}

// backends shows the endpoints of a Service.
func (r *rereader) backends(service object.ID) state.View {
	slices := schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	kind, _ := r.target.cluster.Kind(slices)
	return state.View{Kind: kind, Namespace: service.Namespace, Query: apply.Query{Labels: "kubernetes.io/service-name=" + service.Name}}
}

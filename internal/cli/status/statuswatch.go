package status

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// watchEnded is the error of a command that runs until it is interrupted. It
// prints nothing.
type watchEnded struct{}

func (watchEnded) Error() string { return "" }

func (watchEnded) Is(target error) bool { return target == event.ErrInterrupted }

// follow shows the status of a set until it is interrupted.
func (f *statusFlags) follow(cmd *cobra.Command, o *observer) error {
	show, end := f.newRenderer(cmd)
	defer end()
	reader := &setPoller{observer: o}
	return (&statusFollower{
		read: reader.read, show: show,
		watches: newWatchSet(func(ctx context.Context, v kube.View, changed func(kube.WatchEvent)) {
			o.Target.Cluster.Watch(ctx, v.Kind, v.Namespace, v.Query, changed)
		}),
	}).follow(cmd.Context())
}

// setPoller reads a set repeatedly.
type setPoller struct {
	*observer
	unserved []schema.GroupKind // at the last read
}

// read reads the set, and its members if whole is set.
func (r *setPoller) read(ctx context.Context, whole bool) (*setSnapshot, error) {
	r.rediscover(ctx)
	set, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	left, err := leftByHooks(ctx, r.Target.Cluster, set)
	if err != nil {
		return nil, err
	}
	r.unserved = set.UnservedKinds()
	s := &setSnapshot{
		changeSignals: []kube.View{set.ParentView(), set.History.View()},
		members:       set.MemberViews(),
		perNamespace:  set.PerNamespace,
		incomplete:    len(r.unserved) > 0,
		setStatus: func(live []*unstructured.Unstructured, now time.Time, found endpoints) *setStatus {
			out := r.setStatus(set.Parent.ID, set.FilterMembers(live), now, found)
			out.Notes = append(out.Notes, left...)
			return out
		},
		found:    func(service object.ID) (bool, error) { return r.Target.Cluster.HasEndpoints(ctx, service) },
		backends: r.backends,
	}
	if !whole {
		return s, nil
	}
	if s.now, err = r.observeMembers(ctx, set, s.found); err == nil {
		s.now.Notes = append(s.now.Notes, left...)
	}
	return s, err
}

// rediscover refreshes discovery for kinds that were not served. Errors leave
// it as it was.
func (r *setPoller) rediscover(ctx context.Context) {
	seen := map[string]bool{}
	for _, gk := range r.unserved {
		if !seen[gk.Group] {
			seen[gk.Group] = true
			_ = r.Target.Cluster.Refresh(ctx, schema.GroupVersion{Group: gk.Group})
		}
	}
}

// backends returns the view of a Service's endpoints.
func (r *setPoller) backends(service object.ID) kube.View {
	slices := schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	kind, _ := r.Target.Cluster.Kind(slices)
	return kube.View{Kind: kind, Namespace: service.Namespace, Query: kube.Query{Labels: "kubernetes.io/service-name=" + service.Name}}
}

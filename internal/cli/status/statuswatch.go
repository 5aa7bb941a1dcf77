package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// watchEnded is the error of a command that runs until it is interrupted. It
// prints nothing.
type watchEnded struct{}

func (watchEnded) Error() string { return "" }

func (watchEnded) Is(target error) bool { return target == event.ErrInterrupted }

// Follow shows the status of the set until it is interrupted.
func (o *Observer) Follow(ctx context.Context, c *console.Console, output string) error {
	show, end := newRenderer(c, output)
	defer end()
	return (&statusFollower{read: o.read, show: show}).follow(ctx)
}

// read reads the set and its current status.
func (o *Observer) read(ctx context.Context) (*reading, error) {
	set, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	members, err := set.FullMembers(ctx)
	if err != nil {
		return nil, err
	}
	o.learnColumns(ctx, members.Live)
	services, unread := map[object.ID]bool{}, false
	now := o.setStatus(set.Parent.ID, members, time.Now(), func(service object.ID) (bool, error) {
		if there, known := services[service]; known {
			return there, nil
		}
		there, err := o.Target.Cluster.HasEndpoints(ctx, service)
		if err != nil {
			unread = true
			return false, err
		}
		services[service] = there
		return there, nil
	})
	if now.failed() {
		now.explain(ctx, o.Target.Cluster, members.Live)
	}
	now.Notes = set.WithRecoveryNote(now.Notes)
	left, err := leftByHooks(ctx, o.Target.Cluster, set)
	if err != nil {
		return nil, err
	}
	now.Notes = append(now.Notes, left...)
	return &reading{
		status: now, live: members.Live,
		incomplete: unread || len(members.Unknown) > 0,
		versions:   func(ctx context.Context) (versions, error) { return o.versions(ctx, set, services) },
	}, nil
}

// versions returns the versions of the set's parent, its history, its members, and the
// EndpointSlices of these Services. It reads metadata only.
func (o *Observer) versions(ctx context.Context, set connect.Existing, services map[object.ID]bool) (versions, error) {
	out := versions{}
	add := func(objects []*unstructured.Unstructured, err error) error {
		for _, obj := range objects {
			out[string(obj.GetUID())] = obj.GetResourceVersion()
		}
		return err
	}
	parent := set.Parent.ID
	kind, _ := kube.KindsOf(o.Target.Cluster)(schema.GroupVersionKind{Group: parent.Group, Kind: parent.Kind})
	byName := kube.Query{Fields: "metadata.name=" + parent.Name, Metadata: true}
	if err := add(o.Target.Cluster.List(ctx, kind, parent.Namespace, byName)); err != nil {
		return nil, err
	}
	if err := add(set.History.Records(ctx)); err != nil {
		return nil, err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, live := range members.Live {
		out[string(live.GetUID())] = live.GetResourceVersion()
	}
	for _, note := range members.Remarks() { // on kinds and objects that may be members
		out[note] = ""
	}
	for service := range services {
		slices := kube.EndpointsOf(service.Name)
		slices.Metadata = true
		if err := add(o.Target.Cluster.List(ctx, kube.EndpointSliceKind(), service.Namespace, slices)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

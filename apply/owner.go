package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// owner returns the field manager and the set of a run.
func (a Applier) owner() write.Owner {
	return write.Owner{Membership: a.Membership, Manager: a.Manager, Force: a.ForceConflicts}
}

// reader returns a reader of the live objects of a plan's steps. It teaches Health the
// kinds that the stream defines.
func (a Applier) reader(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) request.Reader {
	return request.NewReader(a.Cluster, a.owner(), plan, objects, a.Health, a.Workers)
}

// sender returns the sender of the requests of a run of these manifests.
func (a Applier) sender(manifests ...*unstructured.Unstructured) request.Sender {
	return request.Sender{Cluster: a.Cluster, Owner: a.owner(), Manifests: manifests}
}

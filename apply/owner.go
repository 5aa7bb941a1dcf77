package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/live/write"

	"github.com/ordapply/ordapply/internal/run/request"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// owner returns the field manager and the set as which a run writes.
func (a Applier) owner() write.Owner {
	return write.Owner{Membership: a.Membership, Manager: a.Manager, Force: a.ForceConflicts}
}

// reader returns a reader of the live objects of a plan's steps. It teaches Health the
// kinds that the stream defines.
func (a Applier) reader(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) request.Reader {
	reader := request.Reader{
		Cluster: a.Cluster, Owner: a.owner(), Bodies: write.NewStream(objects, a.Membership.Set, kube.KindsOf(a.Cluster)), Health: a.Health, Workers: a.Workers,
	}
	for _, s := range plan.Steps {
		a.Health.Learn(objects[s.ID])
		reader.Manifests = append(reader.Manifests, objects[s.ID])
	}
	return reader
}

// sender returns what sends the requests of a run of these manifests.
func (a Applier) sender(manifests ...*unstructured.Unstructured) request.Sender {
	return request.Sender{Cluster: a.Cluster, Owner: a.owner(), Manifests: manifests}
}

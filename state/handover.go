package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// HandOver hands a set over to another tool.
type HandOver struct {
	Cluster     Cluster                 // required
	Parent      object.ID               // required: the parent object of the set
	Kind        schema.GroupVersionKind // of the parent
	Namespace   string                  // required: that of the Lease
	LockTimeout time.Duration           // bounds the wait for another run to end; default 0
}

// kubectlTooling is the tooling annotation that kubectl requires on a parent
// that it manages.
const kubectlTooling = "kubectl/v1.36"

// ToKubectl makes kubectl the manager of the set and narrows the parent's
// group-kinds to what the set contains: kubectl rejects a set with kinds that
// are not served. It returns an error, and changes nothing, when the members
// cannot all be listed, or are in several namespaces under a namespaced parent.
func (h HandOver) ToKubectl(ctx context.Context) error {
	if _, err := h.open(ctx); err != nil {
		return err // before the lock, which is a write too
	}
	held, release, err := Lock{Cluster: h.Cluster, Lease: LeaseOf(h.Parent, h.Namespace)}.Acquire(ctx, h.LockTimeout)
	if err != nil {
		return err
	}
	defer release()
	return orLost(held, h.handOver(held))
}

// handOver does the part that requires the lock.
func (h HandOver) handOver(ctx context.Context) error {
	set, err := h.open(ctx)
	if err != nil {
		return err
	}
	if err := set.checkRecordsNamespace(h.Namespace); err != nil {
		return err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return err
	}
	if err := members.checkListable("hand it over: kubectl would reject the set"); err != nil {
		return err
	}
	next := set.Parent.ForMembers(slices.Concat(slices.Collect(maps.Keys(members.Live)), members.possibleMembers()))
	if h.Parent.Namespace != "" && len(next.Namespaces) > 0 {
		return h.namespacesError(next.Namespaces)
	}
	next.Tooling = kubectlTooling
	return set.write(ctx, next)
}

func (h HandOver) open(ctx context.Context) (*Set, error) {
	set, err := Open(ctx, h.Cluster, h.Kind, h.Parent, false)
	if err == nil {
		err = set.Recover(ctx, History{Cluster: h.Cluster, Parent: set.Parent, Namespace: h.Namespace})
	}
	if err == nil && !set.Known() {
		err = fmt.Errorf("apply set %s not found: nothing to hand over", h.Parent)
	}
	return set, err
}

// namespacesError returns the error for a set that kubectl cannot manage as it is, with
// a remedy.
func (h HandOver) namespacesError(others []string) error {
	name, home := h.Parent.Name, h.Parent.Namespace
	old := name
	if h.Parent.Kind != "Secret" {
		old = strings.ToLower(h.Parent.GroupKind()) + "/" + name
	}
	return fmt.Errorf(`kubectl supports a set in several namespaces (%[1]s as well as %[2]s) only with a cluster-scoped parent. Move the members to such a set, delete the old set with the members that the manifests no longer contain, and hand over the new set:
  ordapply applyset crd | ordapply apply -f -
  ordapply apply -f MANIFESTS --applyset applysets.ordapply.dev/%[3]s -n %[2]s --adopt=any
  ordapply delete --applyset %[4]s -n %[2]s
  ordapply applyset hand-over applysets.ordapply.dev/%[3]s -n %[2]s --to kubectl`, strings.Join(others, ", "), home, name, old)
}

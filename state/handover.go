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

// HandOver gives a set to another tool.
type HandOver struct {
	Cluster     Cluster
	Parent      object.ID
	Kind        schema.GroupVersionKind // of the parent
	Namespace   string                  // of the Lease
	LockTimeout time.Duration
}

// kubectlTooling is what kubectl wants to read on a parent that it keeps.
const kubectlTooling = "kubectl/v1.36"

// ToKubectl lets kubectl keep the set, which then promises exactly what it has:
// kubectl refuses a set with kinds that are not served.
func (h HandOver) ToKubectl(ctx context.Context) error {
	ctx, release, err := Lock{Cluster: h.Cluster, Lease: LeaseOf(h.Parent, h.Namespace)}.Acquire(ctx, h.LockTimeout)
	if err != nil {
		return err
	}
	defer release()
	set, err := Open(ctx, h.Cluster, h.Kind, h.Parent, false)
	if err != nil {
		return err
	}
	if !set.Exists() {
		return fmt.Errorf("there is no apply set %s: nothing to hand over", h.Parent)
	}
	if err := set.livesIn(h.Namespace); err != nil {
		return err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return err
	}
	if err := members.answering("hand it over: kubectl refuses it as it is"); err != nil {
		return err
	}
	next := set.Parent.Holding(slices.Collect(maps.Keys(members.Live)))
	if h.Parent.Namespace != "" && len(next.Namespaces) > 0 {
		return fmt.Errorf("kubectl keeps a set in several namespaces (%s as well as %s) only under a cluster-scoped parent: apply it with --applyset applysets.ordapply.dev/%s first (ordapply applyset crd)", strings.Join(next.Namespaces, ", "), h.Parent.Namespace, h.Parent.Name)
	}
	next.Tooling = kubectlTooling
	return set.write(ctx, next)
}

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
	if _, err := h.open(ctx); err != nil {
		return err // before the lock, which is written, too
	}
	held, release, err := Lock{Cluster: h.Cluster, Lease: LeaseOf(h.Parent, h.Namespace)}.Acquire(ctx, h.LockTimeout)
	if err != nil {
		return err
	}
	defer release()
	return orLost(held, h.give(held))
}

// give does what is done under the lock.
func (h HandOver) give(ctx context.Context) error {
	set, err := h.open(ctx)
	if err != nil {
		return err
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
	next := set.Parent.Holding(slices.Concat(slices.Collect(maps.Keys(members.Live)), members.doubtful()))
	if h.Parent.Namespace != "" && len(next.Namespaces) > 0 {
		return h.spans(next.Namespaces)
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
		err = fmt.Errorf("there is no apply set %s: nothing to hand over", h.Parent)
	}
	return set, err
}

// spans says what to do with a set that kubectl would not keep as it is.
func (h HandOver) spans(others []string) error {
	name, home := h.Parent.Name, h.Parent.Namespace
	old := name
	if h.Parent.Kind != "Secret" {
		old = strings.ToLower(h.Parent.GroupKind()) + "/" + name
	}
	return fmt.Errorf(`kubectl keeps a set in several namespaces (%[1]s as well as %[2]s) only under a cluster-scoped parent. Move all of it under one, delete the old set, with what the manifests no longer hold, and hand over the new one:
  ordapply applyset crd | ordapply apply -f -
  ordapply apply -f MANIFESTS --applyset applysets.ordapply.dev/%[3]s -n %[2]s --adopt=any
  ordapply delete --applyset %[4]s -n %[2]s
  ordapply applyset hand-over applysets.ordapply.dev/%[3]s -n %[2]s --to kubectl`, strings.Join(others, ", "), home, name, old)
}

package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/state/lease"
	stateset "github.com/ordapply/ordapply/state/set"
)

// HandOver hands a set over to another tool.
type HandOver struct{ SetRef }

// ToKubectl makes kubectl the manager of the set and narrows the parent's
// group-kinds to the members' kinds: kubectl rejects a set with kinds that are
// not served. It returns an error, and changes nothing, when the members cannot
// all be listed, or are in several namespaces under a namespaced parent.
func (h HandOver) ToKubectl(ctx context.Context) error {
	h.SetRef = h.SetRef.withDefaults()
	if _, err := h.openKnown(ctx); err != nil {
		return err // before the lock, which is a write too
	}
	held, release, err := h.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return lease.OrLost(held, h.handOver(held))
}

// handOver does the part that requires the lock.
func (h HandOver) handOver(ctx context.Context) error {
	set, err := h.openKnown(ctx)
	if err != nil {
		return err
	}
	if err := set.CheckRecordsNamespace(h.Namespace); err != nil {
		return err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return err
	}
	if err := members.CheckListable("hand it over: kubectl would reject the set"); err != nil {
		return err
	}
	next := set.Parent.ForMembers(slices.Concat(slices.Collect(maps.Keys(members.Live)), members.PossibleMembers()))
	if h.Parent.Namespace != "" && len(next.Namespaces) > 0 {
		return h.namespacesError(next.Namespaces)
	}
	next.Tooling = stateset.KubectlTooling
	if err := set.Write(ctx, next); err != nil {
		return err
	}
	records := h.history(set)
	stored, err := records.ReadIndex(activity.For(ctx, "for the history"))
	if err != nil {
		return err
	}
	return records.Close(ctx, stored, stateset.KubectlTooling)
}

func (h HandOver) openKnown(ctx context.Context) (*stateset.Set, error) {
	set, err := h.open(ctx, false)
	if err == nil {
		err = set.Recover(ctx, h.history(set))
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
	old := applyset.Parent{ID: h.Parent}.Argument()
	return fmt.Errorf(`kubectl supports a set in several namespaces (%[1]s as well as %[2]s) only with a cluster-scoped parent. Move the members to such a set, delete the old set with the members that the manifests no longer contain, and hand over the new set:
  ordapply applyset crd | ordapply apply -f -
  ordapply apply -f MANIFESTS --applyset applysets.ordapply.dev/%[3]s -n %[2]s --adopt=any
  ordapply delete --applyset %[4]s -n %[2]s
  ordapply applyset hand-over applysets.ordapply.dev/%[3]s -n %[2]s --to kubectl`, strings.Join(others, ", "), home, name, old)
}

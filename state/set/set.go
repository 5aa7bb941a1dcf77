// Package set is an apply set (KEP-3659) as it is on a cluster: it reads and writes
// the parent, and finds the members. Package applyset makes the decisions.
//
//	set, err := set.Open(ctx, cluster, gvk, parent, false)
//	err = set.Recover(ctx, records)   // if the parent was deleted or edited by hand
//	err = set.Widen(ctx, ids)         // before the first write to any of them
//	members, err := set.Members(ctx)
//	err = set.Narrow(ctx, left, nil)  // after a prune
package set

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// KubectlTooling is the tooling annotation that kubectl requires on a parent
// that it manages.
const KubectlTooling = "kubectl/v1.36"

// Set is an apply set (KEP-3659) that a run has opened. Its Parent is the one
// on the cluster as it was last read or written.
type Set struct {
	Parent applyset.Parent // with additions and recoveries since

	cluster kube.Cluster
	kind    kube.Kind // of the parent
	version string    // of the parent's kind
	live    liveParent
	damage  damage
	// otherTool is set for a set of another tool. Its members were labelled by
	// that tool; members of our own sets, by the set's field managers.
	otherTool bool
	// missingGroupKinds is set when the parent does not list the kinds of the members;
	// searchMembers finds them.
	missingGroupKinds bool
	// recordsNamespace is the namespace of the Lease and the history of a set with a
	// cluster-scoped parent.
	recordsNamespace string
	released         string // the text of ReleaseNote
	revision         int    // the number for the next write of the parent; see NumberAnnotation
	vouchers         history.Vouchers
	former           formerMembers
	taken            []inventory.Inventory // see TakenFromAnnotation
	historyIndex     *history.Index        // as Recover read it
	emptyKinds       []schema.GroupKind    // of which FindLost proved that no object had the label
}

// liveParent is the parent on the cluster, as it was last read or written.
type liveParent struct {
	exists  bool
	version readVersion
	digest  string // its DigestAnnotation
	number  int    // its NumberAnnotation
	former  string // its FormerAnnotation
	taken   string // its TakenFromAnnotation
}

// damage is the damage to a parent since ordapply wrote it; see Recover.
type damage int

const (
	undamaged      damage = iota
	parentDeleted         // by hand
	parentEdited          // by something other than ordapply
	parentOutdated        // it is older than the newest revision
	recordsLost           // there is neither a parent nor a history, but members are left
)

// plainKind reports whether a parent's kind is also used for other things.
func plainKind(id object.ID) bool { return id.Group == "" }

func isOurs(tooling string) bool {
	tool, _, _ := strings.Cut(applyset.Tooling, "/")
	name, _, _ := strings.Cut(tooling, "/")
	return name == tool
}

// Exists reports whether the set has a parent on the cluster.
func (s *Set) Exists() bool { return s.live.exists }

// Known reports whether the set has a parent on the cluster, or had one that
// was deleted by hand.
func (s *Set) Known() bool {
	return s.live.exists || s.damage == parentDeleted || s.damage == recordsLost
}

// IsOtherTool reports whether the set is of another tool.
func (s *Set) IsOtherTool() bool { return s.otherTool }

// ManagedBy returns the other tool that manages the set; "" for none.
func (s *Set) ManagedBy() string {
	if !s.otherTool {
		return ""
	}
	return cmp.Or(s.Parent.Tooling, "another tool")
}

// HistoryIndex returns the metadata of the set's history as Recover read it; nil if it
// did not.
func (s *Set) HistoryIndex() *history.Index { return s.historyIndex }

// Vouchers returns the parent's vouchers for the set's revisions, as last read or
// written.
func (s *Set) Vouchers() history.Vouchers { return s.vouchers }

// SetRevision sets the number of the revision whose run writes the set from now on.
func (s *Set) SetRevision(number int) { s.revision = number }

// readVersion is the uid and the resourceVersion of an object that was read;
// zero when it did not exist.
type readVersion struct {
	uid     types.UID
	version string
}

func readVersionOf(live *unstructured.Unstructured) readVersion {
	return readVersion{live.GetUID(), live.GetResourceVersion()}
}

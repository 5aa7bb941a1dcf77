package state

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
)

// What a set has is known by its parent. When the parent was deleted by hand, or
// what it says of its members was changed, the history and the label of the members
// themselves show it.

// digestAnnotation is a digest of what the parent says of its members. Where it
// does not match, another than ordapply changed that; without it the parent is
// believed as it stands.
const digestAnnotation = "ordapply.dev/contents-digest"

// contentsDigest is that of what a parent says.
func contentsDigest(p applyset.Parent) string {
	said := p.Annotations()
	sum := sha256.Sum256([]byte(said[applyset.GroupKindsAnnotation] + ";" + said[applyset.NamespacesAnnotation]))
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:12])
}

// readContents reads what a live parent says of its members. It sets edited when
// that is not what ordapply wrote there.
func (s *Set) readContents(live *unstructured.Unstructured) (applyset.Parent, error) {
	parent, err := applyset.ReadParent(live)
	s.digest = live.GetAnnotations()[digestAnnotation]
	label := live.GetLabels()[applyset.IDLabel]
	othersTool := parent.Tooling != "" && !isOurs(parent.Tooling)
	if label != "" && label != parent.SetID() || othersTool || s.digest == "" {
		return parent, err
	}
	s.edited = err != nil || label == "" || parent.Tooling == "" || s.digest != contentsDigest(parent)
	return parent, nil
}

// Known reports whether the set has a parent on the cluster, or had one that was
// deleted by hand.
func (s *Set) Known() bool { return s.exists || s.lost }

// Remark is what is to be said of a set whose parent was recovered; "" for any
// other.
func (s *Set) Remark() string {
	switch {
	case s.lost:
		return fmt.Sprintf("the apply set has a history and no parent: %s was deleted, or a run was killed before it wrote it; the members were found by that history and their labels, and apply writes the parent again", s.Parent.ID)
	case s.edited:
		return fmt.Sprintf("what %s says of the members of its apply set was changed, and not by ordapply; the members were found by its history and their labels, and apply writes it again", s.Parent.ID)
	}
	return ""
}

// Recover finds out what the set may have when its parent was deleted or changed by
// hand. It makes no request when the parent is as ordapply wrote it, and one when
// there is none.
func (s *Set) Recover(ctx context.Context, history History) error {
	if s.exists && !s.edited || s.foreign || s.lost {
		return nil
	}
	entries, err := history.List(ctx)
	if err != nil || !s.exists && len(entries) == 0 {
		return err
	}
	s.lost = !s.exists
	past, err := history.contents(ctx, entries, s.Parent)
	if err != nil {
		return err
	}
	s.Parent = past.contents
	probe := *s
	probe.silent = true
	if err := probe.search(ctx, nil); err == nil {
		s.Parent = s.Parent.WidenedTo(probe.Parent.Kinds, probe.Parent.Namespaces)
	} else if !past.whole {
		return s.unrecovered(err)
	}
	return nil
}

// unrecovered says how to go on when it cannot be found out what a set has.
func (s *Set) unrecovered(why error) error {
	resource, where := s.kind.Resource.GroupResource().String(), s.Parent.ID.Name
	if s.Parent.ID.Namespace != "" {
		where += " -n " + s.Parent.ID.Namespace
	}
	happened := "was changed, and not by ordapply, in what it says of the members"
	if s.lost {
		happened = "was deleted"
	}
	return fmt.Errorf("the parent of the apply set, %s, %s, and its members cannot all be found: its history no longer begins with its first revision, and looking at all kinds failed: %w. "+
		"Run this with an account that may list all kinds; or write the parent yourself, with all kinds that the set has: label it (kubectl label %s %s %s=%s), annotate it (kubectl annotate %s %s %s=%s %s=Deployment.apps,ConfigMap %s-)",
		s.Parent.ID, happened, why, resource, where, applyset.IDLabel, s.Parent.SetID(), resource, where, applyset.ToolingAnnotation, applyset.Tooling, applyset.GroupKindsAnnotation, digestAnnotation)
}

// pastContents are all that the revisions of a set have held.
type pastContents struct {
	contents applyset.Parent
	whole    bool // no revision is missing
}

// contents reads all revisions that are kept, and adds what they hold to what a
// parent says.
func (h History) contents(ctx context.Context, entries []Entry, parent applyset.Parent) (pastContents, error) {
	past := pastContents{contents: parent, whole: true}
	for i, e := range entries {
		past.whole = past.whole && e.Number == i+1
		revision, err := h.read(ctx, e)
		if ctx.Err() != nil {
			return past, context.Cause(ctx)
		}
		if err != nil { // the others tell as much as they can
			past.whole = false
			continue
		}
		for _, resource := range revision.Resources {
			gk, namespaces := schema.GroupKind{Group: resource.Group, Kind: resource.Kind}, []string{}
			if resource.Namespace != parent.ID.Namespace && resource.Namespace != "" {
				namespaces = append(namespaces, resource.Namespace)
			}
			past.contents = past.contents.WidenedTo([]schema.GroupKind{gk}, namespaces)
		}
	}
	return past, nil
}

// withRemark adds what is to be said of the set to what is said of its members.
func (s *Set) withRemark(remarks []string) []string {
	if remark := s.Remark(); remark != "" {
		return slices.Concat([]string{remark}, remarks)
	}
	return remarks
}

// emptied reports whether a parent of ours says that the set has no kinds, which
// ordapply never writes.
func emptied(live *unstructured.Unstructured) bool {
	text, says := live.GetAnnotations()[applyset.GroupKindsAnnotation]
	return says && strings.TrimSpace(text) == "" && live.GetLabels()[applyset.IDLabel] != "" && isOurs(live.GetAnnotations()[applyset.ToolingAnnotation])
}

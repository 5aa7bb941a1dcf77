package state

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
)

// What a set has is known by its parent. When the parent was deleted by hand, or
// what it says of its members was changed, the history and the label of the members
// themselves show it.

// digestAnnotation is a digest of what the parent says of its members. Where it
// does not match, another than ordapply changed that; without it the parent is
// believed as it stands.
const digestAnnotation = "ordapply.dev/contents-digest"

// numberAnnotation is the number of the revision under whose run the parent was
// written last. Each revision stores which number the parent has at least once its run
// writes members: its own, or that of a parent that promised them all already. From
// then on the set only loses kinds until the next revision. So a parent with a lower
// number is older than the revision: a copy of it was restored, or a run was killed
// after it stored the revision and before it wrote the parent.
const numberAnnotation = "ordapply.dev/contents-revision"

// nextNumber is what the parent carries when it is written next; it never shrinks.
func (s *Set) nextNumber() int { return max(s.number, s.revision) }

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
	s.number, _ = strconv.Atoi(live.GetAnnotations()[numberAnnotation]) // 0 in one of an older version
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
	case s.outdated:
		return fmt.Sprintf("what %s says of the members of its apply set is older than the newest revision: an old copy was restored, or a run was killed before it wrote it; the members were found by its history and their labels, and apply writes it again", s.Parent.ID)
	case s.edited:
		return fmt.Sprintf("what %s says of the members of its apply set was changed, and not by ordapply; the members were found by its history and their labels, and apply writes it again", s.Parent.ID)
	}
	return ""
}

// Recover finds out what the set may have when its parent was deleted or changed by
// hand, or an old copy of it was restored. It makes one request when the parent is as
// ordapply wrote it last, or when there is none and no history; an account that may not
// make that request believes the parent.
func (s *Set) Recover(ctx context.Context, history History) error {
	if s.foreign || s.lost || s.outdated {
		return nil
	}
	forHistory := activity.For(ctx, "for the history")
	stored, err := history.stock(forHistory)
	if apierrors.IsForbidden(err) && s.exists && !s.edited {
		return nil
	}
	if err != nil {
		return err
	}
	s.past = &stored
	newest := stored.newest()
	s.lost = !s.exists && newest != nil
	s.outdated = s.exists && !s.edited && s.digest != "" && newest != nil && s.number < newest.parent
	if !s.lost && !s.edited && !s.outdated {
		return nil
	}
	since := 0
	if s.outdated {
		since = s.number
	}
	past, err := history.contents(forHistory, stored.entries, s.Parent, since)
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
	missing := "no longer begins with its first revision"
	happened := "was changed, and not by ordapply, in what it says of the members"
	switch {
	case s.lost:
		happened = "was deleted"
	case s.outdated:
		happened, missing = "is older than the newest revision", "does not hold all revisions since"
	}
	return fmt.Errorf("the parent of the apply set, %s, %s, and its members cannot all be found: its history %s, and looking at all kinds failed: %w. "+
		"Run this with an account that may list all kinds; or write the parent yourself, with all kinds that the set has: label it (kubectl label %s %s %s=%s), annotate it (kubectl annotate %s %s %s=%s %s=Deployment.apps,ConfigMap %s-)",
		s.Parent.ID, happened, missing, why, resource, where, applyset.IDLabel, s.Parent.SetID(), resource, where, applyset.ToolingAnnotation, applyset.Tooling, applyset.GroupKindsAnnotation, digestAnnotation)
}

// pastContents are what revisions of a set have held.
type pastContents struct {
	contents applyset.Parent
	whole    bool // no revision is missing
}

// contents reads the revisions that are kept and have numbers above since, and adds
// what they hold to what a parent says.
func (h History) contents(ctx context.Context, entries []Entry, parent applyset.Parent, since int) (pastContents, error) {
	past := pastContents{contents: parent, whole: true}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Number <= since })
	for i, e := range entries {
		past.whole = past.whole && e.Number == since+i+1
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

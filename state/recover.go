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

// The parent says which kinds and namespaces a set has. When the parent was
// deleted or edited by hand, they are recovered from the history and the
// labels of the members.

// digestAnnotation is a digest of the parent's kinds and namespaces. If it
// does not match, something other than ordapply changed these; without it the
// parent is trusted.
const digestAnnotation = "ordapply.dev/contents-digest"

// numberAnnotation is the number of the revision whose run wrote the parent
// last. Each revision records the number that the parent has at least once
// its run writes members: its own, or that of a parent that covered all of
// them already. Until the next revision the set then only loses kinds. So a
// parent with a lower number is older than the revision: a copy of it was
// restored, or a run was killed after it stored the revision and before it
// wrote the parent.
const numberAnnotation = "ordapply.dev/contents-revision"

// nextNumber returns the number for the next write of the parent; it never
// decreases.
func (s *Set) nextNumber() int { return max(s.number, s.revision) }

// contentsDigest returns the digest of a parent's kinds and namespaces.
func contentsDigest(p applyset.Parent) string {
	said := p.Annotations()
	sum := sha256.Sum256([]byte(said[applyset.GroupKindsAnnotation] + ";" + said[applyset.NamespacesAnnotation]))
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:12])
}

// readContents reads the kinds and namespaces of a live parent. It sets
// edited when ordapply did not write them so.
func (s *Set) readContents(live *unstructured.Unstructured) (applyset.Parent, error) {
	parent, err := applyset.ReadParent(live)
	s.digest = live.GetAnnotations()[digestAnnotation]
	s.number, _ = strconv.Atoi(live.GetAnnotations()[numberAnnotation]) // 0 when an older version wrote it
	label := live.GetLabels()[applyset.IDLabel]
	othersTool := parent.Tooling != "" && !isOurs(parent.Tooling)
	if label != "" && label != parent.SetID() || othersTool || s.digest == "" {
		return parent, err
	}
	s.parentEdited = err != nil || label == "" || parent.Tooling == "" || s.digest != contentsDigest(parent)
	return parent, nil
}

// Known reports whether the set has a parent on the cluster, or had one that
// was deleted by hand.
func (s *Set) Known() bool { return s.exists || s.parentDeleted }

// RecoveryNote describes the recovery of a parent; "" when there was none.
func (s *Set) RecoveryNote() string {
	switch {
	case s.parentDeleted:
		return fmt.Sprintf("the apply set has a history but no parent: %s was deleted, or a run was killed before writing it; the members were found by the history and their labels, and apply recreates the parent", s.Parent.ID)
	case s.parentOutdated:
		return fmt.Sprintf("%s, the parent of the apply set, is older than the newest revision: an old copy was restored, or a run was killed before updating it; the members were found by the history and their labels, and apply updates the parent", s.Parent.ID)
	case s.parentEdited:
		return fmt.Sprintf("%s, the parent of the apply set, was changed by something other than ordapply; the members were found by the history and their labels, and apply updates the parent", s.Parent.ID)
	}
	return ""
}

// Recover finds out the kinds and namespaces of a set whose parent was
// deleted or edited by hand, or restored from an old copy. It sends one
// request when the parent is as ordapply wrote it last, or when there is
// neither a parent nor a history; a user who may not send that request trusts
// the parent.
func (s *Set) Recover(ctx context.Context, history History) error {
	if s.otherTool || s.parentDeleted || s.parentOutdated {
		return nil
	}
	forHistory := activity.For(ctx, "for the history")
	stored, err := history.readIndex(forHistory)
	if apierrors.IsForbidden(err) && s.exists && !s.parentEdited {
		return nil
	}
	if err != nil {
		return err
	}
	s.historyIndex = &stored
	newest := stored.newest()
	s.parentDeleted = !s.exists && newest != nil
	s.parentOutdated = s.exists && !s.parentEdited && s.digest != "" && newest != nil && s.number < newest.parent
	if !s.parentDeleted && !s.parentEdited && !s.parentOutdated {
		return nil
	}
	since := 0
	if s.parentOutdated {
		since = s.number
	}
	past, err := history.contents(forHistory, stored.entries, s.Parent, since)
	if err != nil {
		return err
	}
	s.Parent = past.contents
	probe := *s
	probe.missingGroupKinds = true
	if err := probe.searchMembers(ctx, nil); err == nil {
		s.Parent = s.Parent.WithKindsAndNamespaces(probe.Parent.Kinds, probe.Parent.Namespaces)
	} else if !past.whole {
		return s.recoverError(err)
	}
	return nil
}

// recoverError returns the error for a set whose members cannot all be found,
// with a remedy.
func (s *Set) recoverError(why error) error {
	resource, where := s.kind.Resource.GroupResource().String(), s.Parent.ID.Name
	if s.Parent.ID.Namespace != "" {
		where += " -n " + s.Parent.ID.Namespace
	}
	missing := "no longer includes its first revision"
	happened := "was changed by something other than ordapply"
	switch {
	case s.parentDeleted:
		happened = "was deleted"
	case s.parentOutdated:
		happened, missing = "is older than the newest revision", "does not include all revisions since"
	}
	return fmt.Errorf("the parent of the apply set, %s, %s, and its members cannot all be found: its history %s, and listing all kinds failed: %w. "+
		"Run this with an account that may list all kinds; or restore the parent yourself, with all kinds of the set: label it (kubectl label %s %s %s=%s), annotate it (kubectl annotate %s %s %s=%s %s=Deployment.apps,ConfigMap %s-)",
		s.Parent.ID, happened, missing, why, resource, where, applyset.IDLabel, s.Parent.SetID(), resource, where, applyset.ToolingAnnotation, applyset.Tooling, applyset.GroupKindsAnnotation, digestAnnotation)
}

// pastContents are the kinds and namespaces of a set's revisions.
type pastContents struct {
	contents applyset.Parent
	whole    bool // no revision is missing
}

// contents reads the stored revisions with numbers above since, and adds
// their kinds and namespaces to those of a parent.
func (h History) contents(ctx context.Context, entries []Entry, parent applyset.Parent, since int) (pastContents, error) {
	past := pastContents{contents: parent, whole: true}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Number <= since })
	for i, e := range entries {
		past.whole = past.whole && e.Number == since+i+1
		revision, err := h.read(ctx, e)
		if ctx.Err() != nil {
			return past, context.Cause(ctx)
		}
		if err != nil { // the others still count
			past.whole = false
			continue
		}
		for _, resource := range revision.Resources {
			gk, namespaces := schema.GroupKind{Group: resource.Group, Kind: resource.Kind}, []string{}
			if resource.Namespace != parent.ID.Namespace && resource.Namespace != "" {
				namespaces = append(namespaces, resource.Namespace)
			}
			past.contents = past.contents.WithKindsAndNamespaces([]schema.GroupKind{gk}, namespaces)
		}
	}
	return past, nil
}

// withRecoveryNote puts the remark on the set before those on its members.
func (s *Set) withRecoveryNote(remarks []string) []string {
	if remark := s.RecoveryNote(); remark != "" {
		return slices.Concat([]string{remark}, remarks)
	}
	return remarks
}

// emptied reports whether a parent of ordapply has an empty group-kinds
// annotation, which ordapply never writes.
func emptied(live *unstructured.Unstructured) bool {
	text, says := live.GetAnnotations()[applyset.GroupKindsAnnotation]
	return says && strings.TrimSpace(text) == "" && live.GetLabels()[applyset.IDLabel] != "" && isOurs(live.GetAnnotations()[applyset.ToolingAnnotation])
}

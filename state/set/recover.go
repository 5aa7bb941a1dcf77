package set

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/state/history"
)

// The parent lists the kinds and namespaces of a set. When the parent was
// deleted or edited by hand, they are recovered from the history and the labels
// of the members.

// RecoveryNote describes the recovery of a parent; "" when there was none.
func (s *Set) RecoveryNote() string {
	switch s.damage {
	case parentDeleted:
		return fmt.Sprintf("the apply set has a history but no parent: %s was deleted, or a run was killed before writing it; the members were found by the history and their labels, and apply recreates the parent", s.Parent.ID)
	case parentOutdated:
		return fmt.Sprintf("%s, the parent of the apply set, is older than the newest revision: an old copy was restored, or a run was killed before updating it; the members were found by the history and their labels, and apply updates the parent", s.Parent.ID)
	case recordsLost:
		return fmt.Sprintf("the apply set has neither a parent nor a history: %s was deleted, as with its namespace, or a run was killed before writing it; members were found by their labels, and apply recreates the parent", s.Parent.ID)
	case parentEdited:
		return fmt.Sprintf("%s, the parent of the apply set, was changed by something other than ordapply; the members were found by the history and their labels, and apply updates the parent", s.Parent.ID)
	}
	return ""
}

// Recover finds out the kinds and namespaces of a set whose parent was
// deleted or edited by hand, or restored from an old copy. It sends one
// request when the parent is as ordapply wrote it last, or when there is
// neither a parent nor a history; without permission for that request, the
// parent is trusted.
func (s *Set) Recover(ctx context.Context, records history.History) error {
	if s.otherTool || s.damage == parentDeleted || s.damage == parentOutdated {
		return nil
	}
	forHistory := activity.For(ctx, "for the history")
	stored, err := records.ReadIndex(forHistory)
	if apierrors.IsForbidden(err) && s.live.exists && s.damage != parentEdited {
		return nil
	}
	if err != nil {
		return err
	}
	s.historyIndex = &stored
	newest := stored.MinParentNumber()
	since, mayBeForged := 0, false
	switch {
	case s.damage == parentEdited:
	case newest == 0 && stored.Newest() == nil:
		return nil
	case !s.live.exists:
		s.damage = parentDeleted
	case s.live.digest != "" && s.live.number < newest:
		s.damage, since = parentOutdated, s.live.number
		mayBeForged = stored.OnlyUnlisted(s.live.number)
		s.live.number = newest // that of its next write
	default:
		return nil
	}
	past, err := records.Contents(forHistory, stored, s.Parent, since)
	if err != nil {
		return err
	}
	return s.recoverContents(ctx, past, mayBeForged)
}

// recoverContents adds the kinds and namespaces of a set to its parent. Revisions that the
// parent does not know may be forged: theirs are added where members are found, and
// nothing fails because of them alone.
func (s *Set) recoverContents(ctx context.Context, past history.Contents, mayBeForged bool) error {
	if !past.Unlisted {
		s.Parent = past.Parent
	}
	probe := *s
	probe.missingGroupKinds = true
	err := probe.searchMembers(ctx, nil)
	if err == nil {
		s.Parent = s.Parent.WithKindsAndNamespaces(probe.Parent.Kinds, probe.Parent.Namespaces)
		return nil
	}
	if !past.Whole && !mayBeForged {
		return s.recoverError(err)
	}
	if !past.Unlisted {
		return nil
	}
	probe.Parent = past.Parent
	members, err := probe.Members(ctx)
	s.Parent = s.Parent.WithMembers(slices.Collect(maps.Keys(members.Live)))
	return err
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
	switch s.damage {
	case parentDeleted:
		happened = "was deleted"
	case parentOutdated:
		happened, missing = "is older than the newest revision", "does not include all revisions since"
	}
	return fmt.Errorf("the parent of the apply set, %s, %s, and its members cannot all be found: its history %s, and listing all kinds failed: %w. "+
		"Run this with an account that may list all kinds; or restore the parent yourself, with all kinds of the set: label it (kubectl label %s %s %s=%s), annotate it (kubectl annotate %s %s %s=%s %s=Deployment.apps,ConfigMap %s-)",
		s.Parent.ID, happened, missing, why, resource, where, applyset.IDLabel, s.Parent.SetID(), resource, where, applyset.ToolingAnnotation, applyset.Tooling, applyset.GroupKindsAnnotation, DigestAnnotation)
}

// WithRecoveryNote puts the remark on the set before its members' remarks.
func (s *Set) WithRecoveryNote(remarks []string) []string {
	if remark := s.RecoveryNote(); remark != "" {
		return slices.Concat([]string{remark}, remarks)
	}
	return remarks
}

package set

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// Any client that may label an object can make it look like a member: the field manager is a
// name of its choice. So a run deletes only members of a revision that the parent vouches
// for, and members that the parent itself lists.

// FormerAnnotation is on the parent of a set, and lists members that no revision contains any
// more and that were not pruned, that a person accepted, or that another tool applied before
// the set was taken over. It is JSON, compressed where it is long:
// [[group, kind, namespace, name], …].
const FormerAnnotation = "ordapply.dev/former-members"

// maxFormer bounds the annotation in bytes: all annotations of an object together may have
// 256 KiB.
const maxFormer = 120 << 10

// formerMembers are the listed members.
type formerMembers map[object.ID]bool

// readFormer returns the former members that a live parent lists; none where the annotation
// was edited so that it cannot be read.
func readFormer(parent *unstructured.Unstructured) formerMembers {
	var listed [][4]string
	text, err := history.UnpackText(parent.GetAnnotations()[FormerAnnotation])
	if err != nil || json.Unmarshal(text, &listed) != nil {
		return nil
	}
	out := formerMembers{}
	for _, id := range listed {
		out[object.ID{Group: id[0], Kind: id[1], Namespace: id[2], Name: id[3]}] = true
	}
	return out
}

// text returns the former members as they are stored; "" for none.
func (f formerMembers) text() string {
	if len(f) == 0 {
		return ""
	}
	var listed [][4]string
	for _, id := range slices.SortedFunc(maps.Keys(f), object.Compare) {
		listed = append(listed, [4]string{id.Group, id.Kind, id.Namespace, id.Name})
	}
	text, err := json.Marshal(listed)
	if err != nil {
		panic(err) // it holds strings only
	}
	return history.PackText(text)
}

// IsFormer reports whether the parent lists an object as a member that no revision contains.
func (s *Set) IsFormer(id object.ID) bool { return s.former[id] }

// Accept is Remember for members that a person accepted, at the next write of the parent.
func (s *Set) Accept(ids []object.ID) error { return s.addFormer(ids) }

// Remember makes the parent list members that no revision will contain, and writes it.
func (s *Set) Remember(ctx context.Context, ids []object.ID) error {
	if err := s.addFormer(ids); err != nil || s.former.text() == s.live.former {
		return err
	}
	return s.Write(ctx, s.Parent)
}

// addFormer is Remember, for the next write of the parent.
func (s *Set) addFormer(ids []object.ID) error {
	next := maps.Clone(s.former)
	if next == nil {
		next = formerMembers{}
	}
	for _, id := range ids {
		next[id] = true
	}
	if len(next.text()) > maxFormer {
		return fmt.Errorf("apply set %s has more than %d members that its revisions do not contain: delete those that are not needed, with --prune or by hand", s.Parent.ID, len(next)-len(ids))
	}
	s.former = next
	return nil
}

// ForgetFormer lets the next write of the parent list only the former members that are left.
func (s *Set) ForgetFormer(left func(object.ID) bool) {
	next := maps.Clone(s.former)
	maps.DeleteFunc(next, func(id object.ID, _ bool) bool { return !left(id) })
	s.former = next
}

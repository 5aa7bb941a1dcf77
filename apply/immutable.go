package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// onImmutableAnnotation says what to do when a manifest changes a field that
// cannot change: "recreate" deletes the object and applies it anew. Without it
// that is an error: deleting is for the author to allow.
const onImmutableAnnotation = "ordapply.dev/on-immutable"

// immutableFields are the fields that the API server said cannot change; none
// when that was not its trouble.
func immutableFields(err error) []string {
	if !apierrors.IsInvalid(err) {
		return nil
	}
	status, ok := asStatus(err)
	if !ok || status.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		if saysImmutable(cause.Message) {
			fields = append(fields, cause.Field+exceptions(cause.Message))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// saysImmutable recognises the ways in which the API server says that a field
// cannot change: each kind has its own.
func saysImmutable(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"immutable",
		"may not be changed",
		"may not change once set",                      // Service: clusterIP, ipFamilies
		"cannot change roleref",                        // RoleBinding, ClusterRoleBinding
		"pod updates may not change fields other than", // and the whole difference, in Go's words
		"updates to statefulset spec",
	}, func(words string) bool { return strings.Contains(message, words) })
}

// exceptions are the fields that the API server said may change, where it told
// of no others: of a StatefulSet, a claim or a Pod it names the spec alone.
func exceptions(message string) string {
	for _, words := range []string{"fields other than ", "immutable after creation except "} {
		_, rest, found := strings.Cut(message, words)
		if !found {
			continue
		}
		rest, _, _ = strings.Cut(rest, "\n")
		for _, end := range []string{" are forbidden", " for bound claims"} {
			rest, _, _ = strings.Cut(rest, end)
		}
		return " (but for " + strings.NewReplacer("'", "", "`", "", ",spec.", ", spec.", ",`", ", ").Replace(rest) + ")"
	}
	return ""
}

// mayRecreate tells whether the author of a manifest lets its object be deleted.
func mayRecreate(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[onImmutableAnnotation] == "recreate"
}

// cannotChange says what to do about fields that cannot change, and what of it
// takes more away than the object.
func cannotChange(fields []string, kind string) error {
	return fmt.Errorf("%s cannot be changed on a live %s: give it a new name, or let it be deleted and made anew%s with the annotation %s: recreate",
		listed(fields), kind, lostWith(kind), onImmutableAnnotation)
}

// lostWith says what is gone with an object of a kind when it is made anew.
func lostWith(kind string) string {
	switch kind {
	case "PersistentVolumeClaim":
		return ", without the data on its volume,"
	case "CustomResourceDefinition":
		return ", without any of its resources,"
	}
	return ""
}

// mayNotRecreate says why a live object may not be deleted to be made anew, though the
// author of its manifest allows that; nil when it may.
func (a Applier) mayNotRecreate(manifest, live *unstructured.Unstructured, fields []string) error {
	what := fmt.Sprintf("%s cannot be changed on a live %s, and the live object is not deleted and created again", listed(fields), live.GetKind())
	for _, obj := range []*unstructured.Unstructured{live, manifest} {
		if protection := applyset.Protection(obj); protection != "" {
			return fmt.Errorf("%s, because its annotation %s protects it: remove the annotation from the object and from the manifest, or give the resource a new name", what, protection)
		}
	}
	if !a.owns(live) {
		return fmt.Errorf("%s, because field manager %s never applied it: delete it with kubectl delete, or give the resource a new name", what, a.Manager)
	}
	return nil
}

func listed(fields []string) string { return strings.Join(fields, ", ") }

// immutable deletes a live object to apply it anew, if its author allows that.
// It reports whether it took care of the trouble.
func (r *run) immutable(i int, fields []string) bool {
	s := &r.steps[i]
	if len(fields) == 0 {
		return false
	}
	if !mayRecreate(s.obj) || r.a.DryRun {
		r.fail(i, Failed, cannotChange(fields, s.ID.Kind))
		return true
	}
	s.fixed = fields
	r.move(i, Applying, "deleting it, to make it anew: "+listed(fields)+" cannot be changed")
	r.send(opDelete, i)
	return true
}

// recreateError is why an object is not deleted to be made anew.
type recreateError struct{ error }

// deleted waits until the object that was deleted is gone, to apply it anew.
func (r *run) deleted(answer reply) {
	i := answer.step
	switch err := answer.err; {
	case err == nil, missing(err):
	case errors.As(err, &recreateError{}):
		r.fail(i, Failed, err)
		return
	case apierrors.IsConflict(err): // it is another object by now
		r.send(opPatch, i)
		return
	case patience(err) > 0:
		r.trouble(i, answer)
		return
	default:
		r.fail(i, Failed, fmt.Errorf("delete it, to make it anew: %w", err))
		return
	}
	s := &r.steps[i]
	s.vanishing = true
	if answer.live == nil {
		r.gone(i)
		return
	}
	s.live = identity{uid: string(answer.live.GetUID())}
	r.heed(i, answer.live)
	r.move(i, Applying, "waiting until the old one is gone"+HeldBy(answer.live))
	r.watch(i)
}

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// onImmutableAnnotation selects what to do when a manifest changes an
// immutable field: "recreate" deletes the object and creates it again.
// Without it the change is an error, because only the author may allow a
// deletion.
const onImmutableAnnotation = "ordapply.dev/on-immutable"

// immutableFields returns the fields that the API server reported as
// immutable; none for any other error.
func immutableFields(err error) []string {
	if !apierrors.IsInvalid(err) {
		return nil
	}
	status, ok := kubeerr.AsStatus(err)
	if !ok || status.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		if isImmutableMessage(cause.Message) {
			fields = append(fields, cause.Field+exceptions(cause.Message))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// isImmutableMessage reports whether a message says that a field is immutable.
// Each kind words it differently.
func isImmutableMessage(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"immutable",
		"may not be changed",
		"may not change once set",                      // Service: clusterIP, ipFamilies
		"cannot change roleref",                        // RoleBinding, ClusterRoleBinding
		"pod updates may not change fields other than", // followed by the whole difference, printed as Go values
		"updates to statefulset spec",
	}, func(words string) bool { return strings.Contains(message, words) })
}

// exceptions returns the fields that a message says may change, for kinds
// whose error names only the spec: StatefulSet, PersistentVolumeClaim and
// Pod.
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
		return " (except for " + strings.NewReplacer("'", "", "`", "", ",spec.", ", spec.", ",`", ", ").Replace(rest) + ")"
	}
	return ""
}

// mayRecreate reports whether a manifest allows its object to be deleted and
// created again.
func mayRecreate(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[onImmutableAnnotation] == "recreate"
}

// immutableFieldsError returns the error for immutable fields: the remedy, and what
// else a deletion would remove.
func immutableFieldsError(fields []string, kind string) error {
	return fmt.Errorf("%s cannot be changed on a live %s: give it a new name, or have it deleted and recreated%s with the annotation %s: recreate",
		joinFields(fields), kind, lostWith(kind), onImmutableAnnotation)
}

// lostWith describes what is lost when an object of a kind is deleted and
// created again.
func lostWith(kind string) string {
	switch kind {
	case "PersistentVolumeClaim":
		return ", which loses the data on its volume,"
	case "CustomResourceDefinition":
		return ", which deletes all its custom resources,"
	}
	return ""
}

// recreateRefusal returns an error when a live object may not be deleted and
// created again although its manifest allows that; nil when it may.
func (a Applier) recreateRefusal(manifest, live *unstructured.Unstructured, fields []string) error {
	what := fmt.Sprintf("%s cannot be changed on a live %s, and the live object is not recreated", joinFields(fields), live.GetKind())
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

func joinFields(fields []string) string { return strings.Join(fields, ", ") }

// recreate deletes a live object to create it again, if its manifest allows
// that. It reports whether it handled the error.
func (r *run) recreate(i int, fields []string) bool {
	s := &r.steps[i]
	if len(fields) == 0 {
		return false
	}
	if !mayRecreate(s.manifest) || r.applier.DryRun {
		r.fail(i, Failed, immutableFieldsError(fields, s.ID.Kind))
		return true
	}
	s.immutableFields = fields
	r.move(i, Applying, "deleting it to recreate it: "+joinFields(fields)+" cannot be changed")
	r.send(opDelete, i)
	return true
}

// recreateError is the reason why an object is not deleted and created again.
type recreateError struct{ error }

// handleRecreateDelete waits until the deleted object is gone, and then applies it again.
func (r *run) handleRecreateDelete(answer reply) {
	i := answer.step
	switch err := answer.err; {
	case err == nil, kubeerr.IsMissing(err):
	case errors.As(err, &recreateError{}):
		r.fail(i, Failed, err)
		return
	case apierrors.IsConflict(err): // another object has the name by now
		r.send(opPatch, i)
		return
	case kubeerr.RetryBudget(err) > 0:
		r.retryOrFail(i, answer)
		return
	default:
		r.fail(i, Failed, fmt.Errorf("delete it to recreate it: %w", err))
		return
	}
	s := &r.steps[i]
	s.terminating = true
	if answer.live == nil {
		r.handleGone(i)
		return
	}
	s.applied = identity{uid: string(answer.live.GetUID())}
	r.updateWatchLabel(i, answer.live)
	r.move(i, Applying, "waiting until the old object is gone"+kube.DeletionBlockers(answer.live))
	r.watch(i)
}

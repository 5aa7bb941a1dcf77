// Package recreate decides whether a live object may be deleted and created again, because
// its manifest changes a field that cannot be changed. The deletion loses the object, so three
// things must be certain before it: the API server's refusal is about immutable fields and
// about nothing else, nothing of others goes along with the object, and the API server would
// accept the new one.
//
//	check := recreate.Check{Cluster: cluster, Owner: owner, Bodies: bodies, Manifests: manifests}
//	err := check.Prove(ctx, recreate.Candidate{Kind: kind, Manifest: manifest, Live: live, Refusal: refusal})
//	if err == nil { // delete live, then apply manifest
package recreate

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Cluster makes the requests of a check; kube.Cluster and kube.ReadOnly are some.
type Cluster interface {
	kube.Reads
	DryRunCreate(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) error
}

// Check decides about recreations. It writes nothing.
type Check struct {
	Cluster   Cluster
	Owner     write.Owner
	Bodies    write.Stream
	Manifests []*unstructured.Unstructured // of the run: it applies them again where they go along
}

// Candidate is a live object that a run may have to recreate.
type Candidate struct {
	Kind     kube.Kind
	Manifest *unstructured.Unstructured
	Live     *unstructured.Unstructured
	Refusal  error // of the PATCH
}

// ErrOtherCause is the error of a candidate whose PATCH was refused for another reason than
// immutable fields.
var ErrOtherCause = errors.New("the PATCH was not refused because of immutable fields")

// Refused is the reason why a live object is not deleted and created again.
type Refused struct{ error }

// Unwrap returns the reason.
func (e Refused) Unwrap() error { return e.error }

// IsCandidate reports whether the refusal of a manifest's PATCH may be about immutable fields
// only. Prove decides.
func IsCandidate(manifest *unstructured.Unstructured, refusal error) bool {
	if object.IsNative(manifest.GroupVersionKind().Group) {
		return len(write.ImmutableFields(refusal)) > 0
	}
	return len(write.InvalidFieldsOf(refusal, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldValueInvalid || cause.Type == metav1.CauseTypeForbidden
	})) > 0
}

// Prove returns nil when a candidate may be deleted and created again. The error is
// ErrOtherCause, a Refused, or the error of a request that may be transient.
func (c Check) Prove(ctx context.Context, o Candidate) error {
	if err := c.isImmutable(ctx, o); err != nil {
		return err
	}
	what := fmt.Sprintf("%s cannot be changed on a live %s, and the live object is not recreated", write.JoinFields(write.InvalidFields(o.Refusal)), o.Live.GetKind())
	if err := c.unprotected(o); err != nil {
		return refused("%s, because %w", what, err)
	}
	switch lost, err := c.losses(ctx, o); {
	case err != nil && fault.RetryBudget(err) > 0:
		return err
	case err != nil:
		return refused("%s, because it is not known what would be deleted with it: %w", what, fault.WithoutURL(err))
	case len(lost) > 0:
		return refused("%s, because its deletion would also delete %s: delete them first, or give the resource a new name", what, event.JoinNames(lost))
	}
	body, err := c.Bodies.Body(o.Manifest) // a new object has no other managers
	if err == nil {
		err = c.areAddressesFree(ctx, body, o.Live)
	}
	if err == nil {
		err = DryRunCreate(ctx, c.Cluster, o.Kind, body, o.Live)
	}
	if err != nil && fault.RetryBudget(err) == 0 {
		return refused("%s, because the API server would reject the new one: %w", what, fault.Explain(err))
	}
	return err
}

func refused(format string, args ...any) error {
	return Refused{event.WithCode(event.CodeImmutable, fmt.Errorf(format, args...))}
}

// boundVolume returns the binding of a claim or a volume; "" for other objects.
func boundVolume(live *unstructured.Unstructured) string {
	switch live.GroupVersionKind().GroupKind().String() {
	case "PersistentVolumeClaim":
		if name, _, _ := unstructured.NestedString(live.Object, "spec", "volumeName"); name != "" {
			return "PersistentVolume " + name
		}
	case "PersistentVolume":
		if claim, _, _ := unstructured.NestedString(live.Object, "spec", "claimRef", "name"); claim != "" {
			namespace, _, _ := unstructured.NestedString(live.Object, "spec", "claimRef", "namespace")
			return "PersistentVolumeClaim " + namespace + "/" + claim
		}
	}
	return ""
}

// unprotected returns an error when the live object or its manifest is protected, or is
// not the run's own.
func (c Check) unprotected(o Candidate) error {
	for _, obj := range []*unstructured.Unstructured{o.Live, o.Manifest} {
		if protection := applyset.Protection(obj, ""); protection != "" {
			return fmt.Errorf("its annotation %s protects it: remove the annotation from the object and from the manifest, or give the resource a new name", protection)
		}
	}
	if volume := boundVolume(o.Live); volume != "" {
		return fmt.Errorf("it is bound to %s, whose data could be lost: give the resource a new name and copy the data", volume)
	}
	if !c.Owner.Applied(o.Live) {
		return fmt.Errorf("field manager %s never applied it: delete it with kubectl delete, or give the resource a new name", c.Owner.Manager)
	}
	if field := c.foreignField(o.Live); field != "" {
		return fmt.Errorf("another field manager set its field %s, which would be lost: delete the object with kubectl delete, or give the resource a new name", field)
	}
	return nil
}

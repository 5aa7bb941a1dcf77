package memcluster

import (
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ordapply/ordapply/kube"
)

// ServerSide makes a Store answer an apply as an API server does: with the API server's own
// merge and conflicts, its immutable fields, its admission and its dry run. Without schemas,
// every map is merged and every list is replaced.
type ServerSide struct {
	// On switches this on.
	On bool
	// Admit returns the error of an admission policy for an object that is to be stored;
	// before is nil when it is created. Optional.
	Admit func(before, after *unstructured.Unstructured) error
}

// applyServerSide returns the object that is stored for an applied one.
func (s *Store) applyServerSide(before, applied *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	gvk := applied.GroupVersionKind()
	live := before.DeepCopy()
	if before == nil {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(gvk)
		live.SetNamespace(applied.GetNamespace())
		live.SetName(applied.GetName())
	}
	merged, err := fieldsOfKind(gvk).Apply(live, applied, o.Manager, o.Force)
	if err != nil {
		return nil, err
	}
	after := merged.(*unstructured.Unstructured)
	after.SetResourceVersion("")
	if before == nil {
		after.SetUID("")
		after.SetCreationTimestamp(metav1.Now())
	} else {
		after.SetUID(before.GetUID())
		if err := immutable(before, after); err != nil {
			return nil, apierrors.NewInvalid(gvk.GroupKind(), after.GetName(), field.ErrorList{err})
		}
	}
	return after, s.admit(before, after)
}

// updatedServerSide returns an object after an update by a manager.
func updatedServerSide(before, after *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	return fieldsOfKind(after.GroupVersionKind()).UpdateNoErrors(before, after, manager).(*unstructured.Unstructured)
}

// fieldsOfKind returns the field manager of a kind.
func fieldsOfKind(gvk schema.GroupVersionKind) *managedfields.FieldManager {
	plain := withoutConversion{}
	fields, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), plain, plain, plain, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		panic(err) // it depends on nothing
	}
	return fields
}

// SetStatus writes the status of an object, as its controller does.
func (s *Store) SetStatus(key string, status map[string]any) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	live := s.Objects[key].DeepCopy()
	live.Object["status"] = status
	resource, _, _ := strings.Cut(key, "/")
	s.put(kube.Kind{Resource: schema.ParseGroupResource(resource).WithVersion("v1")}, live)
	close(s.Changed)
	s.Changed = make(chan struct{})
}

// admit asks the admission policy.
func (s *Store) admit(before, after *unstructured.Unstructured) error {
	if s.ServerSide.Admit == nil {
		return nil
	}
	return s.ServerSide.Admit(before, after)
}

// immutable returns the error for a change of a field that cannot change; the texts are
// Kubernetes's.
func immutable(before, after *unstructured.Unstructured) *field.Error {
	if after.GetKind() != "Job" {
		return nil
	}
	was, _, _ := unstructured.NestedFieldNoCopy(before.Object, "spec", "template")
	is, _, _ := unstructured.NestedFieldNoCopy(after.Object, "spec", "template")
	if apiequality.Semantic.DeepEqual(was, is) {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "template"), is, "field is immutable")
}

// withoutConversion converts nothing: every kind has one version.
type withoutConversion struct{}

func (withoutConversion) Convert(in, out, _ any) error {
	from, known := in.(*unstructured.Unstructured)
	to, also := out.(*unstructured.Unstructured)
	if !known || !also {
		return fmt.Errorf("convert %T to %T", in, out)
	}
	from.DeepCopyInto(to)
	return nil
}

func (withoutConversion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (withoutConversion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (withoutConversion) Default(runtime.Object) {}

func (withoutConversion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// AppliedBy makes a manager the owner of the fields of an object, as if it had applied it at
// a time.
func AppliedBy(obj *unstructured.Unstructured, manager string, at time.Time) {
	written := metav1.NewTime(at)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: obj.GetAPIVersion(), Time: &written,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fieldsOf(obj)),
	}})
}

package kube

import (
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// sharedFields are what the objects of one LIST have in common. Objects of a kind mostly have the
// same managedFields, which take more memory than the rest of their metadata, and the objects of a
// set often the same labels: equal ones are one value, which must not be changed.
type sharedFields struct {
	managed map[string]any // by their content
	labels  map[string]string
	shown   map[string]any // the same labels
}

// convert returns the metadata of an object without its type. The fields that most objects have
// are converted without reflection, which takes longer and more memory.
func (s *sharedFields) convert(item *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	common, rest := &item.ObjectMeta, item.ObjectMeta
	rest.Name, rest.Namespace, rest.UID, rest.ResourceVersion, rest.Generation = "", "", "", "", 0
	rest.CreationTimestamp, rest.Labels, rest.Annotations, rest.ManagedFields = metav1.Time{}, nil, nil, nil
	fields := make(map[string]any, 8) // mostly no more
	var err error
	if !reflect.DeepEqual(rest, metav1.ObjectMeta{}) {
		if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&rest); err != nil {
			return nil, err
		}
	}
	setText(fields, "name", common.Name)
	setText(fields, "namespace", common.Namespace)
	setText(fields, "uid", string(common.UID))
	setText(fields, "resourceVersion", common.ResourceVersion)
	if common.Generation != 0 {
		fields["generation"] = common.Generation
	}
	if !common.CreationTimestamp.IsZero() {
		fields["creationTimestamp"] = common.CreationTimestamp.ToUnstructured()
	}
	if len(common.Labels) > 0 {
		if !maps.Equal(common.Labels, s.labels) {
			s.labels, s.shown = common.Labels, anyTexts(common.Labels)
		}
		fields["labels"] = s.shown
	}
	if len(common.Annotations) > 0 {
		fields["annotations"] = anyTexts(common.Annotations)
	}
	if len(common.ManagedFields) > 0 {
		fields["managedFields"], err = s.of(common.ManagedFields)
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": fields}}, err
}

func setText(fields map[string]any, name, text string) {
	if text != "" {
		fields[name] = text
	}
}

func anyTexts(texts map[string]string) map[string]any {
	all := make(map[string]any, len(texts))
	for key, text := range texts {
		all[key] = text
	}
	return all
}

// of returns the converted entries.
func (s *sharedFields) of(entries []metav1.ManagedFieldsEntry) (any, error) {
	var key []byte
	for _, e := range entries {
		key = fmt.Appendf(key, "%s\n%s\n%s\n%s\n%s\n%v\n", e.Manager, e.Operation, e.APIVersion, e.FieldsType, e.Subresource, e.Time)
		if e.FieldsV1 != nil {
			key = append(key, e.FieldsV1.GetRawBytes()...)
		}
	}
	if list, ok := s.managed[string(key)]; ok {
		return list, nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.ObjectMeta{ManagedFields: entries})
	if err != nil {
		return nil, err
	}
	if s.managed == nil {
		s.managed = map[string]any{}
	}
	s.managed[string(key)] = object["managedFields"]
	return object["managedFields"], nil
}

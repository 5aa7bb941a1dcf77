package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	internalfields "github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// ignoreRule is an entry of ignoreFields: the one entry of the order selects the resources.
type ignoreRule struct {
	order  *sortorder.Order
	fields []string
}

// readIgnored reads the field ignoreFields.
func (f *stackFile) readIgnored(fields sortorder.Applier) error {
	var errs []error
	for i, spec := range fields.IgnoreFields {
		field := fmt.Sprintf("ignoreFields[%d]", i)
		if len(spec.Fields) == 0 {
			errs = append(errs, fmt.Errorf("%s.fields: must list paths such as spec.replicas", field))
			continue
		}
		if err := internalfields.Check(strings.Join(spec.Fields, "\n")); err != nil {
			errs = append(errs, prefixed(field+".fields: ", err))
		}
		order, err := fields.OrderOf(spec.Entry(field))
		errs = append(errs, err)
		f.ignored = append(f.ignored, ignoreRule{order, spec.Fields})
	}
	return errors.Join(errs...)
}

// prefixed puts a prefix before each line of an error.
func prefixed(prefix string, err error) error {
	return errors.New(prefix + strings.ReplaceAll(err.Error(), "\n", "\n"+prefix))
}

// IgnoreFields returns the value of the annotation ordapply.dev/ignore-fields of an
// object: its own, and the fields that the file adds for it; "" for none.
func (f *OrderFile) IgnoreFields(obj *unstructured.Unstructured) string {
	meta := kube.Meta(obj)
	var fields []string
	if own := meta.Annotations[internalfields.Annotation]; own != "" {
		fields = append(fields, own)
	}
	for _, rule := range f.ignored {
		if rule.order.Place([]object.Meta{meta})[0].Selector != 0 {
			continue
		}
		for _, field := range rule.fields {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	return strings.Join(fields, ", ")
}

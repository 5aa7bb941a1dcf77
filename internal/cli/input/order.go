package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// OrderFile is the content of --order: a SortOrder, stacks, or both.
type OrderFile struct {
	Order *sortorder.Order // nil if the file has only stacks
	stackFile
}

// ReadOrder reads the file of --order.
func ReadOrder(ctx context.Context, c *console.Console, name string) (*OrderFile, error) {
	text, err := c.ReadFile(ctx, name, "--order")
	if err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	return ParseOrder(name, text)
}

// ParseOrder parses the text of such a file; name is for messages. Unknown or misspelt
// fields are errors, so that a file is never applied in part.
func ParseOrder(name string, text []byte) (*OrderFile, error) {
	order, malformed := sortorder.Parse(text)
	file := &OrderFile{Order: order}
	fields, _ := sortorder.ReadApplier(text) // Parse has reported its problems
	if err := joinErrors(malformed, file.read(fields)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not valid", name), err)
	}
	if fields.Alone {
		file.Order = nil
	}
	return file, nil
}

// joinErrors joins syntax errors of a file with errors in its meaning, without
// repeating fields.
func joinErrors(malformed, wrong error) error {
	if malformed == nil || wrong == nil {
		return errors.Join(malformed, wrong)
	}
	var problems sortorder.Problems
	errors.As(malformed, &problems)
	errs := []error{malformed}
	for _, one := range ordering.FlattenErrors(wrong) {
		field, _, _ := strings.Cut(one.Error(), ":")
		if !slices.ContainsFunc(problems, func(p sortorder.Problem) bool { return p.Path == field }) {
			errs = append(errs, one)
		}
	}
	return errors.Join(errs...)
}

// ParseStoredOrder parses the order file stored in a revision. It was validated when it was
// applied, so only the stacks are read.
func ParseStoredOrder(name string, text []byte) (*OrderFile, error) {
	file := &OrderFile{}
	fields, err := sortorder.ReadApplier(text)
	if err := errors.Join(err, file.read(fields)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not valid", name), err)
	}
	return file, nil
}

// ReadSortOrder reads the SortOrder of --order.
func ReadSortOrder(ctx context.Context, c *console.Console, name string) (*sortorder.Order, error) {
	file, err := ReadOrder(ctx, c, name)
	if err == nil && file.Order == nil {
		err = fmt.Errorf("%s has stacks but no sortOrder: nothing to sort by", name)
	}
	if err != nil {
		return nil, err
	}
	return file.Order, nil
}

// RulesOf returns the rules for an object, by its application.
func (f *OrderFile) RulesOf(obj *unstructured.Unstructured) *health.Rules {
	meta := kube.Meta(obj)
	application, external := f.externalOf[meta.ID]
	if !external && f.ApplicationOf != nil {
		application = f.ApplicationOf(meta)
	}
	return f.health.of(application)
}

// UseHealthRules adds the health rules of a file of --order; "" means no file.
func UseHealthRules(ctx context.Context, c *console.Console, assessor *health.Assessor, order string) error {
	if order == "" {
		return nil
	}
	file, err := ReadOrder(ctx, c, order)
	if err != nil {
		return err
	}
	assessor.RulesOf = file.RulesOf
	return nil
}

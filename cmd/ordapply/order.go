package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// orderFile is the content of --order: a SortOrder, stacks, or both.
type orderFile struct {
	order *sortorder.Order // nil if the file has only stacks
	stackFile
}

// readOrderFile reads the file of --order.
func readOrderFile(ctx context.Context, name string) (*orderFile, error) {
	text, err := readFile(ctx, name, "--order")
	if err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	return parseOrderFile(name, text)
}

// parseOrderFile parses the text of such a file; name is for messages. Unknown
// or misspelt fields are errors, so that a file is never applied in part.
func parseOrderFile(name string, text []byte) (*orderFile, error) {
	order, malformed := sortorder.Parse(text)
	file := &orderFile{order: order}
	ordered, err := file.readStacksOf(text)
	if err := joinErrors(malformed, err); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not valid", name), err)
	}
	if !ordered {
		file.order = nil
	}
	return file, nil
}

// joinErrors joins syntax errors of a file with errors in its meaning, without
// repeating fields.
func joinErrors(malformed, wrong error) error {
	if malformed == nil || wrong == nil {
		return errors.Join(malformed, wrong)
	}
	named := map[string]bool{}
	for line := range strings.Lines(malformed.Error()) {
		field, _, _ := strings.Cut(line, ":")
		named[field] = true
	}
	errs := []error{malformed}
	for line := range strings.Lines(wrong.Error()) {
		if field, _, _ := strings.Cut(line, ":"); !named[field] {
			errs = append(errs, errors.New(strings.TrimSuffix(line, "\n")))
		}
	}
	return errors.Join(errs...)
}

// storedOrderFile parses the order file stored in a revision. It was validated
// when it was applied, so only the stacks are read.
func storedOrderFile(name string, text []byte) (*orderFile, error) {
	file := &orderFile{}
	if _, err := file.readStacksOf(text); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not valid", name), err)
	}
	return file, nil
}

// readOrder reads the SortOrder of --order.
func readOrder(ctx context.Context, name string) (*sortorder.Order, error) {
	file, err := readOrderFile(ctx, name)
	if err == nil && file.order == nil {
		err = fmt.Errorf("%s has stacks but no sortOrder: nothing to sort by", name)
	}
	if err != nil {
		return nil, err
	}
	return file.order, nil
}

// stamp writes the stamps of a SortOrder on every object, as the function does
// during a build.
func (f *inputFlags) stamp(ctx context.Context, inputs []apply.Input, stderr io.Writer) error {
	read, err := readOrderFile(ctx, f.order)
	if err != nil || read.order == nil {
		return err
	}
	metas := make([]object.Meta, len(inputs))
	for i, in := range inputs {
		metas[i] = apply.Meta(in.Object)
	}
	objects := func(i int) map[string]any { return inputs[i].Object.Object }
	decision := fn.Planner{Order: read.order, Objects: objects}.Plan(metas)
	if remarks := decision.Findings.Remarks(); f.findings == nil {
		fmt.Fprint(stderr, remarks.Lines())
	} else {
		*f.findings = remarks
	}
	if decision.Findings.Failed() {
		return decision.Findings.Err()
	}
	for i, change := range decision.Changes {
		annotations := inputs[i].Object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		for _, key := range change.Remove {
			delete(annotations, key)
		}
		for key, value := range change.Set {
			annotations[key] = value
		}
		inputs[i].Object.SetAnnotations(annotations)
	}
	return nil
}

func isStamped(in apply.Input) bool {
	_, ok := in.Object.GetAnnotations()[ordering.LayerAnnotation]
	return ok
}

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

// orderFile is what --order names: a SortOrder, stacks, or both.
type orderFile struct {
	order *sortorder.Order // nil when the file has stacks alone
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

// parseOrderFile reads the text of such a file; name is for messages. All of it is
// a SortOrder, whatever else it has: what is misspelt or does not belong there is
// refused, and never half a file applied.
func parseOrderFile(name string, text []byte) (*orderFile, error) {
	order, malformed := sortorder.Parse(text)
	file := &orderFile{order: order}
	ordered, err := file.readStacksOf(text)
	if err := together(malformed, err); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is refused", name), err)
	}
	if !ordered {
		file.order = nil
	}
	return file, nil
}

// together joins what is wrong with the form of a file and with what it means. A
// field that is named by the first is not named twice.
func together(malformed, wrong error) error {
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

// storedOrderFile reads what a revision keeps of such a file. It was checked when
// it was applied, by the rules of that time.
func storedOrderFile(name string, text []byte) (*orderFile, error) {
	file := &orderFile{}
	if _, err := file.readStacksOf(text); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is refused", name), err)
	}
	return file, nil
}

// readOrder reads the SortOrder that --order names.
func readOrder(ctx context.Context, name string) (*sortorder.Order, error) {
	file, err := readOrderFile(ctx, name)
	if err == nil && file.order == nil {
		err = fmt.Errorf("%s has stacks and no sortOrder: there is nothing to sort by", name)
	}
	if err != nil {
		return nil, err
	}
	return file.order, nil
}

// stamp writes on every object what a SortOrder decides about it, as the
// function would have during the build.
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
	decision := fn.Decider{Order: read.order, Objects: objects}.Decide(metas)
	if decision.Findings.Failed() {
		return decision.Findings.Err()
	}
	if f.findings == nil {
		fmt.Fprint(stderr, decision.Findings.Lines())
	} else {
		*f.findings = decision.Findings
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

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

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

// readOrderFile reads the file of --order. Its fields about stacks are read
// here; all others are the SortOrder's.
func readOrderFile(name string) (*orderFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	return parseOrderFile(name, text)
}

// parseOrderFile reads the text of such a file; name is for messages.
func parseOrderFile(name string, text []byte) (*orderFile, error) {
	file := &orderFile{}
	rest, err := file.takeStacks(text)
	if err == nil && rest != nil {
		file.order, err = sortorder.Parse(rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is refused:\n%w", name, err)
	}
	return file, nil
}

// readOrder reads the SortOrder that --order names.
func readOrder(name string) (*sortorder.Order, error) {
	file, err := readOrderFile(name)
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
func stamp(inputs []apply.Input, file string, stderr io.Writer) error {
	read, err := readOrderFile(file)
	if err != nil || read.order == nil {
		return err
	}
	metas := make([]object.Meta, len(inputs))
	for i, in := range inputs {
		metas[i] = apply.Meta(in.Object)
	}
	decision := fn.Decider{Order: read.order}.Decide(metas)
	if decision.Findings.Failed() {
		return errors.New(decision.Findings.Lines())
	}
	fmt.Fprint(stderr, decision.Findings.Lines())
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

package orderfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// applicationSelectors holds the selectors of all applications of a file, in
// file order: the first match decides the application of a resource.
type applicationSelectors struct {
	written  []map[string]json.RawMessage
	names    []string // "stack/application"
	fields   []string // field of each, for messages
	optional []bool   // it may match nothing
	order    *sortorder.Order
}

func (a *applicationSelectors) add(name, field string, selector map[string]json.RawMessage, optional bool) {
	selector["layer"] = json.RawMessage(strconv.Quote("application-" + strconv.Itoa(len(a.written))))
	a.written, a.names = append(a.written, selector), append(a.names, name)
	a.fields, a.optional = append(a.fields, field), append(a.optional, optional)
}

// compile combines the selectors into a SortOrder. Errors name the field of the
// selector.
func (a *applicationSelectors) compile() error {
	if len(a.written) == 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": sortorder.APIVersion, "kind": sortorder.Kind,
		"metadata": map[string]string{"name": "stacks"}, "sortOrder": a.written,
	})
	if err != nil {
		return err
	}
	if a.order, err = sortorder.Parse(text); err == nil {
		return nil
	}
	return errors.New(regexp.MustCompile(`sortOrder\[(\d+)\]`).ReplaceAllStringFunc(err.Error(), func(match string) string {
		at, convErr := strconv.Atoi(match[len("sortOrder[") : len(match)-1])
		if convErr != nil || at >= len(a.fields) {
			return match
		}
		return a.fields[at]
	}))
}

// of returns the application of a resource, or "".
func (a *applicationSelectors) of(m object.Meta) string {
	if a.order == nil {
		return ""
	}
	if at := a.order.Place([]object.Meta{m})[0].Selector; at >= 0 && at < len(a.names) {
		return a.names[at]
	}
	return ""
}

// idle returns an error for each application that must select a resource and
// selects none.
func (a *applicationSelectors) idle(metas []object.Meta) []error {
	if a.order == nil {
		return nil
	}
	var errs []error
	for _, found := range a.order.UnusedSelectors(a.order.Place(metas), metas) {
		if i := found.Selector; i < len(a.names) && !a.optional[i] {
			errs = append(errs, fmt.Errorf("%s: application %s (%s) matches nothing: correct its selector, or write optional: true if the stream need not contain it%s", a.fields[i], a.names[i], found.Text, found.Nearest))
		}
	}
	return errs
}

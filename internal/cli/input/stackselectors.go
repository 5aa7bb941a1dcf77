package input

import (
	"fmt"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// applicationSelectors holds the selectors of all applications of a file, in
// file order: the first match decides the application of a resource.
type applicationSelectors struct {
	entries []sortorder.Entry
	apps    []selectedApp // one for each entry
	order   *sortorder.Order
}

type selectedApp struct {
	name     string // "stack/application"
	field    string // for messages
	optional bool   // it may match nothing
}

func (a *applicationSelectors) add(name, field string, app sortorder.Application) {
	a.entries, a.apps = append(a.entries, app.Entry(field)), append(a.apps, selectedApp{name, field, app.Optional})
}

// compile combines the selectors into a SortOrder.
func (a *applicationSelectors) compile(fields sortorder.Applier) (err error) {
	if len(a.entries) > 0 {
		a.order, err = fields.OrderOf(a.entries...)
	}
	return err
}

// of returns the application of a resource, or "".
func (a *applicationSelectors) of(m object.Meta) string {
	if a.order == nil {
		return ""
	}
	if at := a.order.Place([]object.Meta{m})[0].Selector; at >= 0 {
		return a.apps[at].name
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
		if app := a.apps[found.Selector]; !app.optional {
			errs = append(errs, fmt.Errorf("%s: application %s (%s) matches nothing: correct its selector, or write optional: true if the stream need not contain it%s", app.field, app.name, found.Text, found.Nearest))
		}
	}
	return errs
}

package edges

import (
	"fmt"

	"github.com/ordapply/ordapply/ordering"
)

// Remarks are the errors in declarations, and notes about them.
type Remarks struct {
	Errs        []error
	Notes       []string
	suggestions int // how many errors name a similar resource
}

// fail records an error about a resource, which need not be part of the plan.
func (m *Remarks) fail(r ordering.Resource, format string, args ...any) {
	m.Errs = append(m.Errs, fmt.Errorf("%s: %w", r.Located(), fmt.Errorf(format, args...)))
}

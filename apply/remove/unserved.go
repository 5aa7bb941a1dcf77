package remove

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// unconfirmedError is a bare 404 that does not prove that an object is gone.
type unconfirmedError struct{ cause, why error }

func (e *unconfirmedError) Error() string {
	return fmt.Sprintf("the API server returned a bare 404 (%v), which does not prove that it is gone: %v", e.cause, e.why)
}

func (e *unconfirmedError) Unwrap() []error { return []error{e.cause, e.why} }

// explainDeletion adds a remedy to the error of a deletion.
func explainDeletion(err error) error {
	if _, says := errors.AsType[*unconfirmedError](err); says {
		return err
	}
	return fault.Explain(err)
}

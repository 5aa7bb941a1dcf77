package event

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// Code is the kind of an error, for programs that branch on it. Unlike messages, the
// values do not change; later versions may add some.
type Code string

// The codes. CodeUnknown is for an error that none of the others describes.
const (
	CodeUnknown Code = ""
	// The API server refused the request.
	CodeConflict     Code = "Conflict"     // another field manager, client or apply set owns the field or object
	CodeForbidden    Code = "Forbidden"    // the account lacks a permission
	CodeUnauthorized Code = "Unauthorized" // the credentials are not accepted
	CodeDenied       Code = "Denied"       // a webhook, policy, quota or Pod security level denies it
	CodeInvalid      Code = "Invalid"      // the manifest does not match the schema of its kind
	CodeImmutable    Code = "Immutable"    // a field cannot be changed on the live object
	CodeNotServed    Code = "NotServed"    // the cluster does not serve the kind or version
	CodeNotFound     Code = "NotFound"     // something that the request names does not exist
	CodeTerminating  Code = "Terminating"  // the object, its namespace or its definition is being deleted
	// It could not be processed now; running again may succeed.
	CodeUnavailable Code = "Unavailable" // the API server or a webhook could not process it
	CodeUnreachable Code = "Unreachable" // there was no answer
	// The request succeeded.
	CodeUnhealthy Code = "Unhealthy" // the object reports that it will not become ready
	CodeTimeout   Code = "Timeout"   // it was not ready, or not gone, in time: *TimeoutError or *RunTimeoutError
	CodeCanceled  Code = "Canceled"  // the context was canceled: ErrInterrupted
)

// Code returns the kind of the failure: CodeOf its cause.
func (e *Error) Code() Code { return CodeOf(e.Err) }

// CodeOf returns the kind of an error of a run, a deletion or a preview, or of the API
// server; CodeUnknown for nil. Of joined errors it is the first one's that has a code.
func CodeOf(err error) Code {
	var coded *codedError
	var timeout *TimeoutError
	var runTimeout *RunTimeoutError
	var terminating *fault.NamespaceTerminatingError
	switch {
	case err == nil:
		return CodeUnknown
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &timeout), errors.As(err, &runTimeout):
		return CodeTimeout
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return CodeCanceled
	case errors.As(err, &terminating):
		return CodeTerminating
	}
	return answerCode(err)
}

// answerCode returns the code of an answer of the API server, or of none. The first entry
// that matches decides: the cause decides before the status code.
func answerCode(err error) Code {
	_, answered := fault.AsStatus(err)
	for _, entry := range []struct {
		is   func(error) bool
		code Code
	}{
		{fault.IsNamespaceTerminating, CodeTerminating},
		{fault.IsBeingDeleted, CodeTerminating},
		{fault.IsDefinitionTerminating, CodeTerminating},
		{fault.IsNotServed, CodeNotServed},
		{fault.IsMissing, CodeNotFound},
		{func(err error) bool { return fault.MissingServiceAccount(err) != "" }, CodeNotFound},
		{fault.IsSchemaError, CodeInvalid},
		{fault.IsUnfitValue, CodeInvalid},
		{fault.IsWebhookUnreachable, CodeUnavailable},
		{fault.IsRefusedByAdmission, CodeDenied},
		{apierrors.IsConflict, CodeConflict},
		{apierrors.IsAlreadyExists, CodeConflict},
		{apierrors.IsForbidden, CodeForbidden},
		{apierrors.IsInvalid, CodeInvalid},
		{apierrors.IsBadRequest, CodeInvalid},
		{apierrors.IsRequestEntityTooLargeError, CodeInvalid},
		{func(err error) bool { return fault.RetryBudget(err) > 0 }, CodeUnavailable},
	} {
		if answered && entry.is(err) {
			return entry.code
		}
	}
	switch {
	case fault.CredentialsRefused(err):
		return CodeUnauthorized
	case !answered && fault.IsConnectionError(err):
		return CodeUnreachable
	}
	return CodeUnknown
}

// WithCode returns an error with the same text and chain, and a code for CodeOf.
func WithCode(code Code, err error) error { return &codedError{err, code} }

type codedError struct {
	error
	code Code
}

func (e *codedError) Unwrap() error { return e.error }

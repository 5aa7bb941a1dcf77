package event

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

func TestCodeOf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	internal := func(text string) error { return apierrors.NewInternalError(errors.New(text)) }
	forbidden := func(text string) error { return apierrors.NewForbidden(pods, "web", errors.New(text)) }
	for name, c := range map[string]struct {
		err  error
		want Code
	}{
		"no error":                    {nil, CodeUnknown},
		"an error of no kind":         {errors.New("denied the request"), CodeUnknown},
		"a field of another manager":  {apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "conflict"), CodeConflict},
		"another resourceVersion":     {apierrors.NewConflict(pods, "web", errors.New("changed")), CodeConflict},
		"no permission":               {forbidden(`User "a" cannot patch resource "pods" in API group ""`), CodeForbidden},
		"a quota":                     {forbidden("exceeded quota: small"), CodeDenied},
		"a Pod security level":        {forbidden(`violates PodSecurity "restricted"`), CodeDenied},
		"a webhook denies":            {forbidden(`admission webhook "a.b" denied the request: no`), CodeDenied},
		"a policy denies":             {forbidden("ValidatingAdmissionPolicy 'a' denied request: no"), CodeDenied},
		"a webhook does not answer":   {internal(`failed calling webhook "a.b": Post "https://x.y.svc/": EOF`), CodeUnavailable},
		"credentials":                 {apierrors.NewUnauthorized("expired"), CodeUnauthorized},
		"a value out of range":        {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", nil), CodeInvalid},
		"an unknown field":            {internal("failed to create typed patch object (web): .spec.x: field not declared in schema"), CodeInvalid},
		"a bare 404":                  {&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}}, CodeNotServed},
		"a Namespace that is missing": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), CodeNotFound},
		"a Namespace that is terminating": {fault.Explain(&apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "NamespaceTerminating", Message: "namespace shop is being terminated"}}},
		}}), CodeTerminating},
		"too many requests":  {apierrors.NewTooManyRequests("slow down", 1), CodeUnavailable},
		"no connection":      {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), CodeUnreachable},
		"a resource's time":  {&TimeoutError{After: time.Second}, CodeTimeout},
		"the run's time":     {&RunTimeoutError{After: time.Second}, CodeTimeout},
		"interrupted":        {ErrInterrupted, CodeCanceled},
		"canceled":           {context.Canceled, CodeCanceled},
		"as its author says": {fmt.Errorf("step 3: %w", WithCode(CodeImmutable, errors.New("spec.selector"))), CodeImmutable},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, CodeOf(c.err))
			if c.err != nil {
				require.Equal(t, c.want, (&Error{Err: fmt.Errorf("explained: %w", c.err)}).Code(), "a remedy around the cause does not change it")
			}
		})
	}
}

func TestWithCodeKeepsTextAndChain(t *testing.T) {
	cause := errors.New("spec.selector cannot be changed")
	err := WithCode(CodeImmutable, cause)
	require.EqualError(t, err, cause.Error())
	require.ErrorIs(t, err, cause)
}

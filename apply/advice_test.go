package apply

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What an API server says reaches nobody without what to do about it. Each
// answer is in the server's own words, and these stay in what we say.
func TestExplain(t *testing.T) {
	webhook := func(cause string) error {
		return status(500, "InternalError", `Internal error occurred: failed calling webhook "guard.example": failed to call webhook: `+cause)
	}
	for name, c := range map[string]struct {
		err  error
		says string // after the cause, or around it
	}{
		"kind no longer served":      {proxied(404), "the API server stopped serving this kind: was its CustomResourceDefinition deleted or changed?"},
		"namespace missing":          {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "hello"), `namespace "hello" does not exist and no Namespace of this stream makes it: add it to the stream or create it first`},
		"service account missing":    {status(403, "Forbidden", `pods "a" is forbidden: error looking up service account shop/api: serviceaccount "api" not found`), "service account shop/api does not exist: add it to the stream or create it first"},
		"webhook without endpoints":  {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": no endpoints available for service "guard"`), "is its workload running and reachable from the API server?"},
		"webhook refuses":            {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`), "is its workload running and reachable from the API server?"},
		"webhook without a Service":  {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": service "guard" not found`), "the Service guard behind the webhook does not exist: apply it first, or delete the webhook configuration if it is left over"},
		"webhook not trusted":        {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`), "the caBundle of the webhook configuration does not fit the certificate that the webhook shows: renew one of them"},
		"webhook at the wrong place": {webhook("the server could not find the requested resource"), "is its workload running and reachable from the API server?"},
		"webhook cannot handle it":   {webhook("the server is currently unable to handle the request"), "is its workload running and reachable from the API server?"},
		"denied by a webhook":        {status(403, "Forbidden", `admission webhook "guard.example" denied the request: no`), "change the manifest, or ask who owns that policy"},
		"denied by a policy":         {status(422, "Invalid", `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), "change the manifest, or ask who owns that policy"},
		"permission in a namespace":  {status(403, "Forbidden", `configmaps "a" is forbidden: User "deployer" cannot patch resource "configmaps" in API group "" in the namespace "shop"`), `let a Role in namespace "shop" grant "deployer" the verbs get, list, watch, create and patch on "configmaps" of apiGroup ""`},
		"permission in the cluster":  {status(403, "Forbidden", `clusterroles.rbac.authorization.k8s.io "a" is forbidden: User "deployer" cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`), `let a ClusterRole grant "deployer" the verbs get, list, watch, create and patch on "clusterroles" of apiGroup "rbac.authorization.k8s.io"`},
		"field conflict":             {status(409, "Conflict", `Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas`, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict}), "take them with --force-conflicts, or leave them out of the manifest"},
		"lost update for ever":       {status(409, "Conflict", `Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again`), "somebody else changes it again and again: stop that, or run this again"},
		"quota":                      {status(403, "Forbidden", `pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0`), "raise it, or ask for less"},
		"Pod security":               {status(403, "Forbidden", `pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`), "set what it names in the securityContext"},
		"credentials":                {status(401, "Unauthorized", "Unauthorized"), "does not accept the credentials of your kubeconfig: log in again"},
		"too large":                  {status(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"), "split the object"},
		"no answer in time":          {sending(context.DeadlineExceeded), "the API server could not be reached, though it was tried again and again"},
		"unknown field":              {status(500, "InternalError", "failed to create typed patch object (a; v1, Kind=ConfigMap): .dta: field not declared in schema"), "its manifest has a field that its kind does not know"},
		"CRD terminating":            {status(403, "Forbidden", "create not allowed while custom resource definition is terminating"), "wait until it is gone, apply it again, then run this again"},
	} {
		t.Run(name, func(t *testing.T) {
			said := explain(c.err).Error()
			require.Contains(t, said, c.says)
			require.Contains(t, said, brief(c.err).Error(), "the server's own words")
			require.Greater(t, len(said), len(c.err.Error()))
		})
	}
}

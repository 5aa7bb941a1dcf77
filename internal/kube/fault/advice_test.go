package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Every error of the API server is reported with a remedy, and keeps the
// server's own message.
func TestExplain(t *testing.T) {
	webhook := func(cause string) error {
		return status(500, "InternalError", `Internal error occurred: failed calling webhook "guard.example": failed to call webhook: `+cause)
	}
	conversion := func(cause string) error {
		return status(500, "", "conversion webhook for example.com/v1, Kind=Widget failed: "+cause)
	}
	for name, c := range map[string]struct {
		err  error
		says string // after the cause, or around it
	}{
		"kind no longer served":        {proxied(404), "the API server stopped serving this kind: was its CustomResourceDefinition deleted or changed?"},
		"namespace missing":            {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "hello"), `namespace "hello" does not exist, neither in the cluster nor in this stream: add it to the stream or create it first; if another program creates it, wait for it with the annotation ordapply.dev/depends-on: external:/Namespace/hello`},
		"service account missing":      {status(403, "Forbidden", `pods "a" is forbidden: error looking up service account shop/api: serviceaccount "api" not found`), "service account shop/api does not exist: add it to the stream or create it first"},
		"webhook without endpoints":    {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": no endpoints available for service "guard"`), "check that its workload is running and reachable from the API server"},
		"webhook refuses":              {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`), "check that its workload is running and reachable from the API server"},
		"webhook without a Service":    {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": service "guard" not found`), "the Service guard of the webhook does not exist: apply it first, or delete the webhook configuration if it is a leftover"},
		"webhook not trusted":          {webhook(`Post "https://guard.shop.svc:443/check?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`), "the caBundle of the webhook configuration does not match the webhook's certificate: renew one of them"},
		"webhook at the wrong place":   {webhook("the server could not find the requested resource"), "check that its workload is running and reachable from the API server"},
		"webhook cannot handle it":     {webhook("the server is currently unable to handle the request"), "check that its workload is running and reachable from the API server"},
		"conversion without a Service": {conversion(`Post "https://conv.shop.svc:443/convert?timeout=30s": service "conv" not found`), "the CustomResourceDefinition of Widget.example.com converts between versions with Service shop/conv, which does not exist: apply it first"},
		"conversion refused":           {conversion(`Post "https://conv.shop.svc:443/convert?timeout=30s": dial tcp 10.0.0.1:443: connect: connection refused`), "converts between versions with Service shop/conv, which does not answer: check that its workload is running"},
		"conversion not trusted":       {conversion(`Post "https://conv.shop.svc:443/convert?timeout=30s": tls: failed to verify certificate: x509: certificate signed by unknown authority`), "the caBundle in spec.conversion of the CustomResourceDefinition of Widget.example.com does not match the certificate of Service shop/conv"},
		"conversion elsewhere":         {conversion(`Post "https://conv.example/convert?timeout=30s": EOF`), "converts between versions with the webhook of its spec.conversion"},
		"conversion says no":           {conversion("spec.size is too large for v2"), "the conversion webhook of the CustomResourceDefinition of Widget.example.com returned this error"},
		"denied by a webhook":          {status(403, "Forbidden", `admission webhook "guard.example" denied the request: no`), "change the manifest, or ask the owner of that policy"},
		"denied by a policy":           {status(422, "Invalid", `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), "change the manifest, or ask the owner of that policy"},
		"permission in a namespace":    {status(403, "Forbidden", `configmaps "a" is forbidden: User "deployer" cannot patch resource "configmaps" in API group "" in the namespace "shop"`), `grant "deployer" the verbs get, list, watch, create and patch on "configmaps" of apiGroup "" with a Role in namespace "shop"`},
		"permission in the cluster":    {status(403, "Forbidden", `clusterroles.rbac.authorization.k8s.io "a" is forbidden: User "deployer" cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`), `grant "deployer" the verbs get, list, watch, create and patch on "clusterroles" of apiGroup "rbac.authorization.k8s.io" with a ClusterRole`},
		"manager with a comma":         {status(409, "Conflict", `Apply failed with 1 conflict`, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "a,b" using v1`, Field: ".data.c"}), "take these fields with --force-conflicts, leave them"},
		"field conflict":               {status(409, "Conflict", `Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas`, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl-client-side-apply" using apps/v1`, Field: ".spec.replicas"}), "take these fields with --force-conflicts=kubectl-client-side-apply, leave them to their manager with the annotation ordapply.dev/ignore-fields: spec.replicas, or remove them from the manifest"},
		"lost update for ever":         {status(409, "Conflict", `Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again`), "another client keeps changing it: stop that client, or run this again"},
		"quota":                        {status(403, "Forbidden", `pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0`), "raise it, or request less"},
		"Pod security":                 {status(403, "Forbidden", `pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`), "set the named fields in the securityContext"},
		"credentials":                  {status(401, "Unauthorized", "Unauthorized"), "does not accept the credentials of your kubeconfig: log in again"},
		"too large":                    {status(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"), "too large for the cluster to store: split it"},
		"no answer in time":            {sending(context.DeadlineExceeded), "the API server could not be reached, no answer in time (context deadline exceeded): check that it is up"},
		"connection refused":           {sending(fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)), "the API server could not be reached: "},
		"no such host":                 {sending(&net.DNSError{Err: "no such host", Name: "api", IsNotFound: true}), "check the kubeconfig's server, DNS and the VPN"},
		"too many requests":            {status(429, "TooManyRequests", "the server is currently busy"), "ask the cluster administrator which client causes the load (kubectl get flowschemas"},
		"etcd's leader":                {status(500, "InternalError", "etcdserver: leader changed"), "check etcd and its disks, then run this again"},
		"etcd is slow":                 {status(500, "", "etcdserver: request timed out"), "check etcd and its disks, then run this again"},
		"server timeout":               {status(504, "Timeout", "request did not complete within requested timeout - context deadline exceeded"), "the API server did not finish the request in time"},
		"unavailable":                  {status(503, "ServiceUnavailable", "busy"), "check whether it is starting or overloaded"},
		"502 of a load balancer":       {proxied(502), "check whether it is starting or overloaded"},
		"504 of a load balancer":       {proxied(504), "did not finish the request in time"},
		"internal error":               {status(500, "InternalError", "oops"), "the API server failed with an internal error"},
		"created again and again":      {status(409, "AlreadyExists", `configmaps "a" already exists`), "another client keeps creating and deleting it"},
		"expired certificate":          {sending(errors.New("remote error: tls: expired certificate")), "does not accept the credentials of your kubeconfig: log in again"},
		"credentials plugin":           {sending(errors.New(`getting credentials: exec: executable aws failed with exit code 255`)), "does not accept the credentials of your kubeconfig: log in again"},
		"wrong certificate":            {sending(errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")), "the certificate-authority of the kubeconfig does not match"},
		"unknown field":                {status(500, "InternalError", "failed to create typed patch object (a; v1, Kind=ConfigMap): .dta: field not declared in schema"), "the manifest has a field that its kind does not define"},
		"CRD terminating":              {status(403, "Forbidden", "create not allowed while custom resource definition is terminating"), "wait until it is gone, apply it again, then run this again"},
	} {
		t.Run(name, func(t *testing.T) {
			output := Explain(c.err).Error()
			require.Contains(t, output, c.says)
			require.Contains(t, output, WithoutURL(c.err).Error(), "the server's own words")
			require.Greater(t, len(output), len(c.err.Error()))
		})
	}
}

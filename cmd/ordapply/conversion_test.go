package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Requests that need a conversion webhook are retried until the webhook
// responds; until then the message names the CRD and the Service. If it
// responds with an error they are not retried.
func TestConversionWebhookDownThenUp(t *testing.T) {
	address := ownAddress(t)
	cluster := testcluster.Start(t, "--light") // its own: while the webhook is down, no Namespace can be deleted
	var refuses atomic.Bool
	port, bundle := converter(t, &refuses)
	kubectlApply(t, cluster, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.conversion.example}
spec:
  group: conversion.example
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {caBundle: %s, service: {name: converter, namespace: default}}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, bundle))
	cluster.Established(t, "crd/widgets.conversion.example")
	manifest := []byte("apiVersion: conversion.example/v1\nkind: Widget\nmetadata: {name: one, namespace: default}\n")

	code, output := applyThrough(cluster.Kubeconfig, manifest, "--wave-timeout", "10s")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, "not applied after 10s (--wave-timeout): ")
	require.Contains(t, output, `conversion webhook for conversion.example/v1, Kind=Widget failed: Post "https://converter.default.svc:443`)
	require.Contains(t, output, "; the CustomResourceDefinition of Widget.conversion.example converts between versions with Service default/converter, which does not exist: apply it first")
	require.Contains(t, output, "  Service default/converter: it does not exist\n")

	proxy := recorder.Start(t, cluster.Kubeconfig)
	var sent atomic.Int32
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb == "patch" && sent.Add(1) == 3 {
			kubectlApply(t, cluster, fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: converter, namespace: default}
spec: {ports: [{name: https, port: 443, targetPort: %[2]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: converter, namespace: default, labels: {kubernetes.io/service-name: converter}}
addressType: IPv4
ports: [{name: https, port: %[2]d}]
endpoints: [{addresses: [%[1]q], conditions: {ready: true}}]
`, address, port))
		}
		return nil
	})
	code, output = applyThrough(proxy.Kubeconfig, manifest)
	require.Equal(t, report.ExitDone, code, output)

	refuses.Store(true)
	proxy.Reset()
	code, output = applyThrough(proxy.Kubeconfig, []byte("apiVersion: conversion.example/v1\nkind: Widget\nmetadata: {name: two, namespace: default}\n"))
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "failed: no such shape; the conversion webhook of the CustomResourceDefinition of Widget.conversion.example returned this error")
	require.Equal(t, 1, patches(proxy.Requests()))
}

// converter serves conversions for the Service default/converter, with the CA
// bundle of its certificate, and rejects all of them while refuses is true.
func converter(t *testing.T, refuses *atomic.Bool) (port int, bundle string) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("converter.default.svc", nil, nil)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	port = serveTLS(t, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		func(w http.ResponseWriter, r *http.Request) { convert(w, r, refuses.Load()) })
	return port, base64.StdEncoding.EncodeToString(certificate)
}

// convert changes only the apiVersion.
func convert(w http.ResponseWriter, r *http.Request, refuse bool) {
	var review struct {
		Request struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	_ = json.NewDecoder(r.Body).Decode(&review)
	for _, obj := range review.Request.Objects {
		obj["apiVersion"] = review.Request.DesiredAPIVersion
	}
	response := map[string]any{"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": review.Request.Objects}
	if refuse {
		response["convertedObjects"], response["result"] = []any{}, map[string]any{"status": "Failure", "message": "no such shape"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
}

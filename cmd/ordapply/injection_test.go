package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

// The Pods of a stream with its own webhook, which injects a sidecar and fails
// closed, are injected on the first try, for any shuffle; including a gateway
// that never starts without injection, and Pods whose image the webhook sets.
// The webhook's own backend starts without it.
func TestPodsAreInjected(t *testing.T) {
	address := ownAddress(t)
	cluster := shared.Get(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("shuffle ", seed), func(t *testing.T) {
			namespace := fmt.Sprint("injected-", seed)
			port, bundle := injector(t, cluster, namespace)
			documents := strings.Split(fmt.Sprintf(injectedStream, namespace, bundle, address, port), "---\n")
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
			t.Cleanup(func() { cluster.Kubectl(t, "delete", "mutatingwebhookconfiguration", namespace) })

			code, output := applyThrough(cluster.Kubeconfig, []byte(strings.Join(documents, "---\n")), "--wave-timeout", "3m")
			require.Equal(t, report.ExitDone, code, output)
			cluster.Kubectl(t, "create", "job", "-n", namespace, "from-cron", "--from=cronjob/nightly")
			cluster.Kubectl(t, "wait", "-n", namespace, "--for=condition=Complete", "--timeout=3m", "job/from-cron")
			pods := cluster.Kubectl(t, "get", "pods", "-n", namespace, "-o", `jsonpath={range .items[*]}{.metadata.labels.app}: {.spec.containers[*].name}{"\n"}{end}`)
			want := map[string]int{"control: main": 1, "web: main sidecar": 2, "db: main sidecar": 1, "once: main sidecar": 1, "nightly: main sidecar": 1, "gateway: main sidecar": 1}
			got := map[string]int{}
			for line := range strings.Lines(pods) {
				got[strings.TrimSpace(line)]++
			}
			require.Equal(t, want, got, output)
		})
	}
}

// injector serves a webhook that adds a sidecar to every Pod and allows it. It
// responds once the Deployment behind it is ready, and fails before.
func injector(t *testing.T, cluster *testcluster.Cluster, namespace string) (port int, bundle string) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("control."+namespace+".svc", nil, nil)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	client := cluster.Client(t)
	deployments, _ := client.Kind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	port = serveTLS(t, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, func(w http.ResponseWriter, r *http.Request) {
		live, err := client.Get(r.Context(), deployments, namespace, "control")
		if err != nil || !isReady(live) {
			http.Error(w, "the control plane does not run", http.StatusServiceUnavailable)
			return
		}
		inject(w, r)
	})
	return port, base64.StdEncoding.EncodeToString(certificate)
}

// isReady reports whether a Deployment has a ready replica.
func isReady(deployment *unstructured.Unstructured) bool {
	replicas, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return replicas > 0
}

func inject(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string `json:"uid"`
			Object struct {
				Metadata struct {
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
			} `json:"object"`
		} `json:"request"`
	}
	_ = json.NewDecoder(r.Body).Decode(&review)
	patch := []map[string]any{{"op": "add", "path": "/spec/containers/-", "value": map[string]any{"name": "sidecar", "image": "sidecar"}}}
	if review.Request.Object.Metadata.Annotations["localcluster/behaviour"] != "" {
		patch = append(patch, map[string]any{"op": "remove", "path": "/metadata/annotations/localcluster~1behaviour"})
	}
	text, _ := json.Marshal(patch)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": map[string]any{
		"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString(text),
	}})
}

// injectedStream is formatted with a namespace, the webhook's CA bundle, and
// the address and port of its server. The Service selects the control plane's
// Pods, whose port differs from the Service's: only the EndpointSlice leads to
// the server.
const injectedStream = `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {injection: enabled}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: control, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: control}}
  template:
    metadata: {labels: {app: control}, annotations: {localcluster/ready-after: 500ms}}
    spec: {containers: [{name: main, image: i}]}
---
apiVersion: v1
kind: Service
metadata: {name: control, namespace: %[1]s}
spec: {selector: {app: control}, ports: [{name: https, port: 443, targetPort: elsewhere}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: control, namespace: %[1]s, labels: {kubernetes.io/service-name: control}}
addressType: IPv4
ports: [{name: https, port: %[4]d}]
endpoints: [{addresses: [%[3]q], conditions: {ready: true}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: inject.injection.example
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 30
  clientConfig: {caBundle: %[2]s, service: {namespace: %[1]s, name: control}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchExpressions: [{key: injection, operator: In, values: [enabled]}, {key: kubernetes.io/metadata.name, operator: In, values: [%[1]s]}]}
  matchConditions: [{name: not-control, expression: 'object.metadata.labels["app"] != "control"'}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: %[1]s}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: %[1]s}
spec: {template: {metadata: {labels: {app: once}}, spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: %[1]s}
spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {metadata: {labels: {app: nightly}}, spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: gateway}}
  template: {metadata: {labels: {app: gateway}, annotations: {localcluster/behaviour: never-ready}}, spec: {containers: [{name: main, image: auto}]}}
`

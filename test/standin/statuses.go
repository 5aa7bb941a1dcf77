package standin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// reportedKind is a kind whose objects get a status as soon as their operator runs.
type reportedKind struct {
	resource            schema.GroupVersionResource
	namespace, operator string // its Deployment
	status              string // in JSON; %[1]d is the generation, %[2]d the number of replicas
}

// reportedKinds returns the kinds for which there are health rules, with the statuses that
// these take for ready, and the kinds that the Prometheus operator runs, with what it reports
// when their Pods are ready (pkg/operator/statefulset_reporter.go of prometheus-operator).
func reportedKinds() []reportedKind {
	gvr := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	const enforced = `{"byPod": [{"id": "standin", "enforced": true, "observedGeneration": %[1]d}]}`
	kinds := []reportedKind{
		{gvr("argoproj.io", "v1alpha1", "applications"), "argocd", "argocd-server", `{"health": {"status": "Healthy"}, "sync": {"status": "Synced"}}`},
		{gvr("postgresql.cnpg.io", "v1", "clusters"), "cnpg-system", "cnpg-controller-manager", `{"conditions": [{"type": "Ready", "status": "True", "reason": "ClusterIsReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`},
		{gvr("ceph.rook.io", "v1", "cephclusters"), "rook-ceph", "rook-ceph-operator", `{"phase": "Ready", "ceph": {"health": "HEALTH_OK"}}`},
		{gvr("acid.zalan.do", "v1", "postgresqls"), "default", "postgres-operator", `{"PostgresClusterStatus": "Running"}`},
		{gvr("jobset.x-k8s.io", "v1alpha2", "jobsets"), "jobset-system", "jobset-controller-manager", `{"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`},
		{gvr("mutations.gatekeeper.sh", "v1alpha1", "assignimage"), "gatekeeper-system", "gatekeeper-controller-manager", enforced},
	}
	for _, constraint := range []string{"K8sAllowedRepos", "K8sContainerLimits", "K8sRequiredLabels", "K8sRequiredProbes", "K8sUniqueServiceSelector"} {
		kinds = append(kinds, reportedKind{gvr("constraints.gatekeeper.sh", "v1beta1", strings.ToLower(constraint)), "gatekeeper-system", "gatekeeper-controller-manager", enforced})
	}
	const available = `{"replicas": %[2]d, "updatedReplicas": %[2]d, "availableReplicas": %[2]d, "unavailableReplicas": 0, "paused": false, "conditions": [
		{"type": "Available", "status": "True", "observedGeneration": %[1]d, "lastTransitionTime": "2026-01-01T00:00:00Z"},
		{"type": "Reconciled", "status": "True", "observedGeneration": %[1]d, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`
	for _, operator := range []string{"prometheus-operator", "kps-kube-prometheus-stack-operator"} {
		for _, resource := range []string{"prometheuses", "alertmanagers"} {
			kinds = append(kinds, reportedKind{gvr("monitoring.coreos.com", "v1", resource), "monitoring", operator, available})
		}
	}
	return kinds
}

// reportStatuses writes the statuses of objects that have none.
func (o *operators) reportStatuses(ctx context.Context) error {
	var errs []error
	for _, kind := range reportedKinds() {
		found, err := o.list(ctx, kind.resource)
		errs = append(errs, err)
		for _, obj := range found {
			if status, _, _ := unstructured.NestedMap(obj.Object, "status"); len(status) == 0 && o.runs(ctx, kind.namespace, kind.operator) {
				errs = append(errs, o.report(ctx, kind, obj))
			}
		}
	}
	return errors.Join(errs...)
}

// statusOf returns the status of an object, in JSON.
func (k reportedKind) statusOf(obj unstructured.Unstructured) string {
	replicas, found, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	return strings.NewReplacer("%[1]d", fmt.Sprint(obj.GetGeneration()), "%[2]d", fmt.Sprint(replicas)).Replace(k.status)
}

// report writes a status, where the kind has no subresource for it as a field.
func (o *operators) report(ctx context.Context, kind reportedKind, obj unstructured.Unstructured) error {
	patch := []byte(`{"status": ` + kind.statusOf(obj) + `}`)
	client := o.client.Resource(kind.resource).Namespace(obj.GetNamespace())
	_, err := client.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		_, err = client.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// OldRevision explains why the controller of a StatefulSet does not replace a Pod that does
// not become ready, and what to do; "" if it will, or if the Pod is of the newest revision.
// With podManagementPolicy OrderedReady it waits for each Pod to be ready before it updates
// any (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback).
func OldRevision(set *unstructured.Unstructured, pod, revision string) string {
	newest, _, _ := unstructured.NestedString(set.Object, "status", "updateRevision")
	seen, _, _ := unstructured.NestedInt64(set.Object, "status", "observedGeneration")
	if set.GetKind() != "StatefulSet" || newest == "" || revision == "" || revision == newest || seen < set.GetGeneration() || isHeldBack(set, pod) {
		return ""
	}
	remedy := fmt.Sprintf("; delete the Pod: kubectl delete pod %s -n %s", pod, set.GetNamespace())
	old := fmt.Sprintf("it is of the revision before (%s, the newest is %s)", revision, newest)
	if strategy, _, _ := unstructured.NestedString(set.Object, "spec", "updateStrategy", "type"); strategy == "OnDelete" {
		return old + ", and updateStrategy OnDelete replaces it only when it is deleted" + remedy
	}
	if policy, _, _ := unstructured.NestedString(set.Object, "spec", "podManagementPolicy"); policy == "Parallel" {
		return ""
	}
	return old + ", and the StatefulSet replaces no Pod before it is ready" + remedy
}

// isHeldBack reports whether the partition of a StatefulSet keeps a Pod at the revision
// before.
func isHeldBack(set *unstructured.Unstructured, pod string) bool {
	partition, _, _ := unstructured.NestedInt64(set.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	ordinal, err := strconv.ParseInt(pod[strings.LastIndex(pod, "-")+1:], 10, 64)
	return err == nil && ordinal < partition
}

// RevisionOf returns the revision of its workload that a Pod was created from; "" if it does
// not say, or if its controller replaces it anyway because it has failed.
func RevisionOf(pod *unstructured.Unstructured) string {
	if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Failed" || pod.GetDeletionTimestamp() != nil {
		return ""
	}
	return pod.GetLabels()["controller-revision-hash"]
}

// oldRevision reports the first Pod that its StatefulSet does not replace although it is of
// an older revision.
func (q *Diagnoser) oldRevision(workload *unstructured.Unstructured, pods []*unstructured.Unstructured) {
	for _, pod := range pods {
		if _, bad := PodProblemFrom(pod, time.Time{}); !bad {
			continue
		}
		if text := OldRevision(workload, pod.GetName(), RevisionOf(pod)); text != "" {
			q.addDated(kube.Meta(pod).ID, text, text, "").explains = explainsTheCause
			return
		}
	}
}

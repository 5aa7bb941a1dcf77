package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/object"
)

// kubernetes assesses the native kinds.
func kubernetes(obj *unstructured.Unstructured) (Assessment, bool) {
	kind := obj.GroupVersionKind().GroupKind()
	if !object.IsNative(kind.Group) {
		return Assessment{}, false
	}
	exists := Assessment{Verdict: Ready, Reason: "it exists", Rule: Exists}
	switch kind.String() {
	case "Job.batch":
		return markSuspended(obj, job(obj)), true
	case "CronJob.batch":
		return markSuspended(obj, exists), true
	case "Pod":
		return pod(obj), true
	case "Secret":
		return secret(obj), true
	case "Service":
		return service(obj), true
	case "APIService.apiregistration.k8s.io":
		return apiService(obj), true
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return webhooks(obj), true
	case "ReplicationController":
		return replicationController(obj), true
	case "Deployment.apps":
		return markSuspended(obj, kstatus(obj)), true
	case "DaemonSet.apps":
		return daemonSet(obj), true
	case "StatefulSet.apps":
		return statefulSet(obj), true
	case "PersistentVolumeClaim", "ReplicaSet.apps",
		"CustomResourceDefinition.apiextensions.k8s.io":
		return kstatus(obj), true
	}
	return exists, true
}

// Exists is the Assessment.Rule of kinds that are ready as soon as they exist, such
// as ConfigMap.
const Exists = "exists"

// job is ready when it is complete; kstatus calls a running Job current.
func job(obj *unstructured.Unstructured) Assessment {
	a := kstatus(obj)
	if a.Verdict == Failed {
		if message := conditionText(obj, "Failed"); message != "" {
			a.Reason = message
		}
		a.Final = true
		return a
	}
	if a.Verdict == Ready && !isTrue(obj, "Complete") {
		return Assessment{Verdict: Progressing, Reason: a.Reason, Rule: "job"}
	}
	return a
}

// pod replaces kstatus for Pods: kstatus returns Current for a failed Pod and
// uses the clock for one that cannot be scheduled.
func pod(obj *unstructured.Unstructured) Assessment {
	status := status.Status(obj)
	phase, _ := status["phase"].(string)
	a := Assessment{Verdict: Progressing, Reason: "Pod is in the " + phase + " phase", Rule: "pod"}
	switch {
	case phase == "Succeeded", phase == "Running" && isTrue(obj, "Ready"):
		a.Verdict = Ready
	case phase == "Failed":
		a.Verdict, a.Final = Failed, true
		if message, _ := status["message"].(string); message != "" {
			a.Reason += ": " + message
		}
	case phase == "":
		a.Reason = "it has no phase yet"
	default:
		if reason := waitingContainer(status); reason != "" {
			a.Reason = reason
		} else if text := conditionText(obj, "PodScheduled", "Ready"); text != "" {
			a.Reason = text
		}
		if strings.HasPrefix(a.Reason, crashLoop) {
			a.Verdict = Failed
		}
	}
	return a
}

const crashLoop = "CrashLoopBackOff"

// waitingContainer describes a container that cannot start; crash loops first.
func waitingContainer(status map[string]any) string {
	first := ""
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _ := status[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			reason, _, _ := unstructured.NestedString(container, "state", "waiting", "reason")
			if reason == "" || reason == "ContainerCreating" || reason == "PodInitializing" {
				continue
			}
			message, _, _ := unstructured.NestedString(container, "state", "waiting", "message")
			text := fmt.Sprintf("%s in container %v: %s", reason, container["name"], message)
			if reason == crashLoop {
				return text
			}
			if first == "" {
				first = text
			}
		}
	}
	return first
}

// service is ready once it exists, and a LoadBalancer once it has an address.
// kstatus only checks the cluster IP.
func service(obj *unstructured.Unstructured) Assessment {
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	ingress, _, _ := unstructured.NestedSlice(obj.Object, "status", "loadBalancer", "ingress")
	if kind == "LoadBalancer" && len(ingress) == 0 {
		return Assessment{Verdict: Progressing, Reason: "its load balancer has no address yet", Rule: "service"}
	}
	return Assessment{Verdict: Ready, Reason: "it exists", Rule: "service"}
}

// apiService is ready when the API server can reach the backend of the group.
func apiService(obj *unstructured.Unstructured) Assessment {
	if isTrue(obj, "Available") {
		return Assessment{Verdict: Ready, Reason: "it is available", Rule: "apiservice"}
	}
	reason := conditionText(obj, "Available")
	if reason == "" {
		reason = "the API server has not checked its backend yet"
	}
	return Assessment{Verdict: Progressing, Reason: reason, Rule: "apiservice"}
}

// secret is ready when it exists, and a token Secret when its token is issued: the token
// controller deletes one whose ServiceAccount it does not find.
func secret(obj *unstructured.Unstructured) Assessment {
	kind, _, _ := unstructured.NestedString(obj.Object, "type")
	if kind != "kubernetes.io/service-account-token" {
		return Assessment{Verdict: Ready, Reason: "it exists", Rule: Exists}
	}
	if token, _, _ := unstructured.NestedString(obj.Object, "data", "token"); token != "" {
		return Assessment{Verdict: Ready, Reason: "its token is issued", Rule: "token"}
	}
	account := obj.GetAnnotations()["kubernetes.io/service-account.name"]
	return Assessment{Verdict: Progressing, Reason: fmt.Sprintf("no token is issued yet for ServiceAccount %s", account), Rule: "token"}
}

// webhooks are ready when their Services have CA bundles. The object does not
// show whether the Services have endpoints.
func webhooks(obj *unstructured.Unstructured) Assessment {
	a := Assessment{Verdict: Ready, Reason: "its CA bundles are set", Rule: "webhooks"}
	list, _ := obj.Object["webhooks"].([]any)
	seen := map[object.ID]bool{}
	for _, w := range list {
		webhook, _ := w.(map[string]any)
		client, _ := webhook["clientConfig"].(map[string]any)
		backend, ok := client["service"].(map[string]any)
		if !ok {
			continue
		}
		if bundle, _ := client["caBundle"].(string); bundle == "" {
			reason := fmt.Sprintf("webhook %v has no caBundle yet; its operator or cert-manager's cainjector sets it", webhook["name"])
			return Assessment{Verdict: Progressing, Reason: reason, Rule: "webhooks"}
		}
		id := object.ID{Kind: "Service"}
		id.Namespace, _ = backend["namespace"].(string)
		id.Name, _ = backend["name"].(string)
		if !seen[id] {
			seen[id] = true
			a.Backends = append(a.Backends, id)
		}
	}
	return a
}

// daemonSet ignores outdated Pods if the strategy is OnDelete: they are not
// replaced until they are deleted. kstatus does so only for StatefulSets.
func daemonSet(obj *unstructured.Unstructured) Assessment {
	strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	want, _, _ := unstructured.NestedInt64(obj.Object, "status", "desiredNumberScheduled")
	updated, _, _ := unstructured.NestedInt64(obj.Object, "status", "updatedNumberScheduled")
	if strategy != "OnDelete" || updated >= want {
		return kstatus(obj)
	}
	current := obj.DeepCopy()
	if err := unstructured.SetNestedField(current.Object, want, "status", "updatedNumberScheduled"); err != nil {
		return kstatus(obj)
	}
	a := kstatus(current)
	if a.Verdict == Ready {
		a.Reason += fmt.Sprintf("; %d of %d Pods are up to date, the others are replaced when they are deleted (updateStrategy OnDelete)", updated, want)
	}
	return a
}

// statefulSet waits for the Pods if the strategy is OnDelete: outdated ones are not replaced
// until they are deleted, but all must be ready. kstatus does not look at them then.
func statefulSet(obj *unstructured.Unstructured) Assessment {
	strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	a := kstatus(obj)
	if strategy != "OnDelete" || a.Verdict != Ready {
		return a
	}
	if short, isShort := lacksReplicas(obj, "statefulset"); isShort {
		return short
	}
	a.Reason = "all replicas are ready; outdated Pods are replaced when they are deleted (updateStrategy OnDelete)"
	return a
}

// lacksReplicas reports whether fewer replicas are ready than the spec asks for.
func lacksReplicas(obj *unstructured.Unstructured, rule string) (Assessment, bool) {
	want := int64(1)
	if spec, _ := obj.Object["spec"].(map[string]any); spec["replicas"] != nil {
		want, _ = status.Integer(spec["replicas"])
	}
	got, _ := status.Integer(status.Status(obj)["readyReplicas"])
	return Assessment{Verdict: Progressing, Reason: fmt.Sprintf("readyReplicas: %d of %d", got, want), Rule: rule}, got < want
}

// replicationController compares replicas, as kstatus does for ReplicaSets.
func replicationController(obj *unstructured.Unstructured) Assessment {
	if a, stale := isStaleStatus(obj); stale {
		return a
	}
	if a, short := lacksReplicas(obj, "replicationcontroller"); short {
		return a
	}
	return Assessment{Verdict: Ready, Reason: "all replicas are ready", Rule: "replicationcontroller"}
}

// isTrue reports whether a condition has status True.
func isTrue(obj *unstructured.Unstructured, name string) bool {
	return status.Condition(status.Status(obj), name)["status"] == "True"
}

// conditionText returns the reason and message of the first of the named
// conditions that has a message.
func conditionText(obj *unstructured.Unstructured, names ...string) string {
	for _, name := range names {
		c := status.Condition(status.Status(obj), name)
		if message, _ := c["message"].(string); message != "" {
			return fmt.Sprintf("%v: %s", c["reason"], message)
		}
	}
	return ""
}

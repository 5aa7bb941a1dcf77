package diagnose

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// maxPods bounds the Pods that are read for one resource.
const maxPods = 100

// Diagnose collects findings about a resource that is not ready, none when there are none. live is
// its object, nil if it was not applied; backends are the Services that it waits for.
func (q *Diagnoser) Diagnose(ctx context.Context, of object.ID, live *unstructured.Unstructured, backends []object.ID) event.Diagnosis {
	q.of = of
	if live != nil && live.GetKind() != "Pod" { // a Pod's containers say more than its conditions
		q.conditions(live)
	}
	switch {
	case len(backends) > 0:
		q.service(ctx, backends[0])
	case kube.Meta(live).ID.Kind == "Service" && live.GroupVersionKind().Group == "":
		q.address(ctx, live)
	default:
		q.workload(ctx, live)
	}
	return q.diagnosis()
}

// conditions reports the object's own unhealthy conditions. That a Deployment is progressing is
// none: it is so since the first rollout, and as long as the last one has not failed.
func (q *Diagnoser) conditions(live *unstructured.Unstructured) {
	unhealthy := status.UnhealthyConditions(live)
	for n, c := range unhealthy {
		if c.InProgress && (n > 0 || object.IsNative(live.GroupVersionKind().Group)) {
			continue
		}
		if n > 0 && c.Message != "" && c.Reason+c.Message == unhealthy[n-1].Reason+unhealthy[n-1].Message {
			continue
		}
		text, since, reason := "condition "+c.Type+" is "+c.Status, "", ""
		if !c.Since.IsZero() {
			since = " for " + plain.Age(q.Now, c.Since)
		}
		if c.Reason != "" {
			reason = " (" + c.Reason + ")"
		}
		if c.Outdated {
			reason += ", about an older generation"
		}
		q.addDated(kube.Meta(live).ID, text+since+reason, text+reason, c.Message)
	}
}

// workload examines the Pods of a workload, or the events of any other
// object.
func (q *Diagnoser) workload(ctx context.Context, live *unstructured.Unstructured) {
	switch live.GroupVersionKind().GroupKind().String() {
	case "Pod":
		q.pods(ctx, live, []*unstructured.Unstructured{live})
	case "Deployment.apps":
		if maker := q.ReplicaSet(ctx, live); maker != nil {
			q.ownPods(ctx, live, maker)
			return
		}
		q.events(ctx, live)
	case "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController":
		q.ownPods(ctx, live, live)
	case "PersistentVolumeClaim":
		q.claim(ctx, live)
	default:
		q.events(ctx, live)
	}
}

// ReplicaSet returns the ReplicaSet that a Deployment is rolling out; nil
// when it cannot be determined.
func (q *Diagnoser) ReplicaSet(ctx context.Context, deployment *unstructured.Unstructured) *unstructured.Unstructured {
	const revision = "deployment.kubernetes.io/revision"
	replicaSets := kube.Kind{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, Namespaced: true}
	sets, ok := q.list(ctx, replicaSets, deployment.GetNamespace(), kube.Query{Labels: Selector(deployment)})
	for _, set := range sets {
		if isController(deployment, set) && set.GetAnnotations()[revision] == deployment.GetAnnotations()[revision] {
			return set
		}
	}
	if paused, _, _ := unstructured.NestedBool(deployment.Object, "spec", "paused"); ok && !paused {
		q.addFinding(kube.Meta(deployment).ID, "no ReplicaSet was created for it; is kube-controller-manager running?")
	}
	return nil
}

// ownPods examines the Pods that maker created for a workload.
func (q *Diagnoser) ownPods(ctx context.Context, workload, maker *unstructured.Unstructured) {
	own, all := q.madeBy(ctx, maker)
	if want := DesiredPods(maker); all && int64(len(own)) < want {
		text := fmt.Sprintf("%d of %d Pods exist", len(own), want)
		q.addDated(kube.Meta(maker).ID, text, text, "").explains = explainsLittle
		if !q.events(ctx, maker) && len(own) == 0 && len(q.unread) == 0 {
			q.addFinding(kube.Meta(maker).ID, "no event says why; is kube-controller-manager running?")
		}
	}
	if ended, _, _ := unstructured.NestedInt64(workload.Object, "status", "failed"); all && ended > 0 && len(own) == 0 {
		q.addFinding(kube.Meta(workload).ID, fmt.Sprintf("%s failed, and none is left to inspect", plain.Count(int(ended), "Pod")))
	}
	q.oldRevision(workload, own)
	q.pods(ctx, workload, own)
}

// madeBy lists the Pods that maker created; all is false when these may not be all.
func (q *Diagnoser) madeBy(ctx context.Context, maker *unstructured.Unstructured) (own []*unstructured.Unstructured, all bool) {
	listed, ok := q.list(ctx, kube.CoreKind("pods"), maker.GetNamespace(), kube.Query{Labels: Selector(maker), Limit: maxPods})
	for _, pod := range listed {
		if isController(maker, pod) {
			own = append(own, pod)
		}
	}
	return own, ok && len(listed) < maxPods
}

// service examines the Pods behind a Service that has no ready endpoint.
func (q *Diagnoser) service(ctx context.Context, id object.ID) {
	live, err := q.get(ctx, kube.CoreKind("services"), id)
	switch {
	case live != nil:
		q.podsOf(ctx, live)
	case fault.IsMissing(err):
		q.addFinding(id, "it does not exist")
	}
}

// address examines why a Service has no load balancer address.
func (q *Diagnoser) address(ctx context.Context, service *unstructured.Unstructured) {
	id := kube.Meta(service).ID
	kind, _, _ := unstructured.NestedString(service.Object, "spec", "type")
	live, err := q.get(ctx, kube.CoreKind("services"), id)
	if kind != "LoadBalancer" || err != nil || live == nil || hasLoadBalancerController(live) || q.events(ctx, live) || len(q.unread) > 0 {
		q.podsOf(ctx, service)
		return
	}
	text := "no controller has acted on it: nothing in this cluster assigns addresses to Services of type LoadBalancer"
	if class, _, _ := unstructured.NestedString(live.Object, "spec", "loadBalancerClass"); class != "" {
		text = fmt.Sprintf("no controller has acted on it: nothing in this cluster assigns addresses to Services with loadBalancerClass %q", class)
	}
	q.addFinding(id, text+"; install a load balancer controller, or do not wait for the address: annotate it with ordapply.dev/wait: applied, or write a rule for --health-rules")
}

// hasLoadBalancerController reports whether a controller has worked on a Service of type
// LoadBalancer: it has added a finalizer, or has written the status.
func hasLoadBalancerController(service *unstructured.Unstructured) bool {
	return len(service.GetFinalizers()) > 0 || slices.ContainsFunc(service.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "status"
	})
}

func (q *Diagnoser) podsOf(ctx context.Context, service *unstructured.Unstructured) {
	labels, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	if len(labels) == 0 {
		q.events(ctx, service)
		return
	}
	text := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	pods, ok := q.list(ctx, kube.CoreKind("pods"), service.GetNamespace(), kube.Query{Labels: text, Limit: maxPods})
	if ok && len(pods) == 0 {
		q.addFinding(kube.Meta(service).ID, "no Pod matches its selector: "+text)
	}
	q.pods(ctx, service, pods)
	q.events(ctx, service)
}

// pods reports the problems of Pods, and examines the worst of them further.
func (q *Diagnoser) pods(ctx context.Context, workload *unstructured.Unstructured, pods []*unstructured.Unstructured) {
	kinds := podProblems(pods, q.Now)
	logged := false
	for _, kind := range kinds {
		about := kube.Meta(kind.pods[0]).ID
		others := ""
		if more := len(kind.pods) - 1; more > 0 {
			others = fmt.Sprintf(" (and %s with the same problem)", plain.Count(more, "Pod"))
		}
		q.addDated(about, kind.Text+kind.since+others, kind.Text+others, kind.Message).explains = kind.explains()
		if !logged && kind.container != "" {
			logged = true
			q.log(ctx, kind.pods[0], kind)
		}
	}
	if len(kinds) == 0 {
		q.events(ctx, workload)
		return
	}
	worst := kinds[0].pods[0]
	q.events(ctx, worst)
	if phase, _, _ := unstructured.NestedString(worst.Object, "status", "phase"); phase == "Pending" {
		q.claims(ctx, worst)
	}
	if worst != workload && workload.GroupVersionKind().Kind == "Job" {
		q.events(ctx, workload)
	}
}

// claims reports the first volume of a Pod that is not bound. It reads at
// most two.
func (q *Diagnoser) claims(ctx context.Context, pod *unstructured.Unstructured) {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	lookups := 0
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		if name == "" || lookups == 2 {
			continue
		}
		lookups++
		id := object.ID{Kind: "PersistentVolumeClaim", Namespace: pod.GetNamespace(), Name: name}
		claim, err := q.get(ctx, kube.CoreKind("persistentvolumeclaims"), id)
		if fault.IsMissing(err) {
			q.addFinding(id, "it does not exist, and the Pod mounts it")
			return
		}
		if claim == nil {
			continue
		}
		if phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase"); phase != "Bound" {
			q.claim(ctx, claim)
			return
		}
	}
}

// claim reports a volume claim that is not bound.
func (q *Diagnoser) claim(ctx context.Context, claim *unstructured.Unstructured) {
	phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase")
	class, named, _ := unstructured.NestedString(claim.Object, "spec", "storageClassName")
	text := "phase " + phase
	switch {
	case !named:
		text += ", without storageClassName, and the cluster has no default StorageClass"
	case class != "":
		text += fmt.Sprintf(", storage class %q", class)
	}
	q.addFinding(kube.Meta(claim).ID, text)
	q.events(ctx, claim)
}

// log reads the last lines of a container's log, once the values of the
// Secrets that its Pod uses are known.
func (q *Diagnoser) log(ctx context.Context, of *unstructured.Unstructured, kind PodProblem) {
	if !q.readPodSecrets(ctx, of) || !q.takeRequest() {
		return
	}
	pod := kube.Meta(of).ID
	lines, err := q.Cluster.Logs(ctx, pod, kind.container, kube.LogOptions{Previous: kind.previous, Lines: logLines})
	switch {
	case apierrors.IsForbidden(err):
		q.recordForbidden(`get pods/log in namespace "` + pod.Namespace + `"`)
	case err != nil && fault.IsUnanswered(err):
		q.recordUnanswered(fault.TimeoutInWords(err).Error())
	case err != nil:
		q.RecordUnread("the log of container " + kind.container + " of " + pod.String() + " cannot be read: " + fault.WithoutURL(err).Error())
	default:
		last := &q.findings[len(q.findings)-1]
		for _, line := range lines {
			last.Log = append(last.Log, logLine(line))
		}
	}
}

// Selector returns a workload's Pod selector as a query.
func Selector(workload *unstructured.Unstructured) string {
	raw, _, _ := unstructured.NestedMap(workload.Object, "spec", "selector")
	if workload.GetKind() == "ReplicationController" {
		raw = map[string]any{"matchLabels": raw}
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, selector); err != nil {
		return ""
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}

// isController reports whether one object controls another.
func isController(owner, obj *unstructured.Unstructured) bool {
	return metav1.IsControlledBy(obj, owner)
}

// DesiredPods returns the number of Pods that a workload wants.
func DesiredPods(workload *unstructured.Unstructured) int64 {
	switch workload.GetKind() {
	case "DaemonSet":
		n, _, _ := unstructured.NestedInt64(workload.Object, "status", "desiredNumberScheduled")
		return n
	case "Job":
		return 0 // its Pods come and go
	}
	if n, ok, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas"); ok {
		return n
	}
	return 1
}

package hooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// logsWithin bounds the reading of one hook's logs.
const logsWithin = 30 * time.Second

// jobLabel is the label of a Job's Pods; its value is the name of the Job.
const jobLabel = "job-name"

// showLogs reports the logs of a hook's Pods where its policy asks for them at such an
// end. Logs that cannot be read fail nothing: the first reason is reported, once a hook.
func (r *hookRun) showLogs(ctx context.Context, hook authorhook.Hook, end authorhook.Policy) {
	if r.Events == nil || !hook.Shows(end) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logsWithin)
	defer cancel()
	pods, err := r.pods(ctx, hook)
	if err != nil {
		r.reportLog(hook, event.ContainerLog{Err: fmt.Errorf("its Pods cannot be read: %w", err)})
		return
	}
	failed := false
	for _, pod := range pods {
		for _, log := range diagnose.PodLogs(ctx, r.Applier.Cluster, pod, r.Applier.Secrets) {
			if log.Err == nil || !failed {
				r.reportLog(hook, log)
			}
			failed = failed || log.Err != nil
		}
	}
}

func (r *hookRun) reportLog(hook authorhook.Hook, log event.ContainerLog) {
	r.Events(event.Event{Time: time.Now(), ID: hook.ID, Hook: &event.Hook{Event: string(r.event), Log: &log}})
}

// pods returns the Pods of a hook, the oldest first: itself, or its Job's.
func (r *hookRun) pods(ctx context.Context, hook authorhook.Hook) ([]*unstructured.Unstructured, error) {
	if hook.Kind == "Pod" {
		live, err := find(ctx, r.Applier.Cluster, hook)
		if live == nil {
			return nil, err
		}
		return []*unstructured.Unstructured{live}, nil
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	kind, _ := r.Applier.Cluster.Kind(gvk)
	pods, err := r.Applier.Cluster.List(ctx, kind, hook.Namespace, kube.Query{Labels: jobLabel + "=" + hook.Name})
	for _, pod := range pods {
		pod.SetGroupVersionKind(gvk)
	}
	slices.SortFunc(pods, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), object.Compare(kube.Meta(a).ID, kube.Meta(b).ID))
	})
	return pods, err
}

// logPermissions returns the optional permissions for reading a hook's logs.
func logPermissions(hook authorhook.Hook) kube.Permissions {
	if !hook.Shows(authorhook.OnSuccess) && !hook.Shows(authorhook.OnFailure) {
		return kube.Permissions{}
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	return kube.Permissions{Optional: []kube.Permission{
		{Verb: "list", Resource: pods, Namespace: hook.Namespace},
		{Verb: "get", Resource: pods, Subresource: "log", Namespace: hook.Namespace},
	}}
}

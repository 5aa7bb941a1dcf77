package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"
)

// eventInterval is how often an event repeats itself: that of the kubelet's readiness probes.
const eventInterval = 10 * time.Second

// events reports on Pods as the kubelet does: an event that repeats itself is counted.
type events struct {
	api  *client
	last map[string]time.Time // by the event's path
}

func (e *events) warn(ctx context.Context, pod programPod, reason, message string) error {
	hash := fnv.New64a()
	fmt.Fprint(hash, pod.Metadata.UID, reason, message)
	name := fmt.Sprintf("%s.%x", pod.Metadata.Name, hash.Sum64())
	list := "/api/v1/namespaces/" + pod.Metadata.Namespace + "/events"
	at := list + "/" + name
	now := time.Now()
	if now.Sub(e.last[at]) < eventInterval {
		return nil
	}
	e.last[at] = now
	var known struct{ Count int }
	err := e.api.do(ctx, http.MethodGet, at, nil, &known)
	switch {
	case isStatus(err, http.StatusNotFound):
		return e.api.do(ctx, http.MethodPost, list, object{
			"metadata":       object{"name": name},
			"involvedObject": object{"apiVersion": "v1", "kind": "Pod", "namespace": pod.Metadata.Namespace, "name": pod.Metadata.Name, "uid": pod.Metadata.UID},
			"type":           "Warning", "reason": reason, "message": message, "count": 1,
			"source":         object{"component": "kubelet", "host": pod.Spec.NodeName},
			"firstTimestamp": now.UTC().Format(time.RFC3339), "lastTimestamp": now.UTC().Format(time.RFC3339),
		}, nil)
	case err != nil:
		return err
	}
	return e.api.send(ctx, request{
		method: http.MethodPatch, path: at, contentType: mergePatch,
		body: object{"count": known.Count + 1, "lastTimestamp": now.UTC().Format(time.RFC3339)},
	}, nil)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"strings"
	"time"
)

// A write is one of a program to the API server:
//
//	caBundle KIND NAME                  the CA bundles that a webhook configuration, an APIService or a CRD's conversion lacks
//	Secret NAMESPACE/NAME KEY           a key of a Secret, which is created if it does not exist; the same for a ConfigMap
//	Lease NAMESPACE/NAME                a Lease that the Pod holds
//	create JSON                         an object
//	status KIND [NAMESPACE/]NAME JSON   a merge patch of a status
//	patch KIND [NAMESPACE/]NAME JSON    a merge patch of an object
type write struct {
	verb string
	target
	key  string // of the Secret or ConfigMap
	body object // the new object, the status, or the patch
}

func parseWrite(text string) (write, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return write{}, errors.New("a write is empty")
	}
	w := write{verb: words[0]}
	_, body, hasBody := strings.Cut(text, "{")
	if hasBody && json.Unmarshal([]byte("{"+body), &w.body) != nil {
		return w, fmt.Errorf("the end of %q is not a JSON object", text)
	}
	switch {
	case w.verb == "caBundle" && len(words) == 3:
		w.target = parseTarget(words[1], words[2])
	case (w.verb == "Secret" || w.verb == "ConfigMap") && len(words) == 3:
		w.target, w.key = parseTarget(w.verb, words[1]), words[2]
	case w.verb == "Lease" && len(words) == 2:
		w.target = parseTarget("Lease.coordination.k8s.io", words[1])
	case w.verb == "create" && hasBody:
		w.target = targetOf(w.body)
	case (w.verb == "status" || w.verb == "patch") && hasBody && len(words) > 3:
		w.target = parseTarget(words[1], words[2])
	default:
		return w, fmt.Errorf("%q is none of: caBundle KIND NAME, Secret NAMESPACE/NAME KEY, ConfigMap NAMESPACE/NAME KEY, Lease NAMESPACE/NAME, create JSON, status KIND [NAMESPACE/]NAME JSON, patch KIND [NAMESPACE/]NAME JSON", text)
	}
	return w, nil
}

// targetOf returns the kind and name of an object.
func targetOf(o object) target {
	text := func(path ...string) string {
		value, _ := valueAt(map[string]any(o), path).(string)
		return value
	}
	group, _, grouped := strings.Cut(text("apiVersion"), "/")
	kind := text("kind")
	if grouped {
		kind += "." + group
	}
	return target{kind, text("metadata", "namespace"), text("metadata", "name")}
}

// write writes missing values, as the Pod's ServiceAccount: without its roles, it fails as
// the program would.
func (p *programs) write(ctx context.Context, pod programPod, w write) error {
	at, err := p.kinds.path(ctx, w.target)
	if err != nil {
		return err
	}
	if at == "" {
		return fmt.Errorf("no %s is served", w.kind)
	}
	live, err := p.get(ctx, w.target)
	if err != nil {
		return err
	}
	by := author{p.api, "system:serviceaccount:" + pod.Metadata.Namespace + ":" + pod.Spec.ServiceAccountName, pod.Spec.Containers[0].Name}
	created := w.verb == "Secret" || w.verb == "ConfigMap" || w.verb == "Lease" || w.verb == "create"
	switch {
	case created && live == nil:
		return by.create(ctx, at, p.created(pod, w))
	case live == nil:
		return errors.New("it does not exist")
	case w.verb == "caBundle":
		return p.writeBundles(ctx, by, at, live)
	case w.verb == "status" && !contains(live["status"], map[string]any(w.body)):
		return by.patch(ctx, at+"/status", mergePatch, object{"status": w.body})
	case w.verb == "patch" && !contains(map[string]any(live), map[string]any(w.body)):
		return by.patch(ctx, at, mergePatch, w.body)
	case w.key != "" && isEmpty(valueAt(map[string]any(live), []string{"data", w.key})):
		return by.patch(ctx, at, mergePatch, object{"data": p.data(w)})
	}
	return nil
}

// contains reports whether merging a patch into a value would change nothing.
func contains(value, patch any) bool {
	fields, ok := patch.(map[string]any)
	if !ok {
		return reflect.DeepEqual(value, patch)
	}
	have, _ := value.(map[string]any)
	for name, field := range fields {
		if !contains(have[name], field) {
			return false
		}
	}
	return true
}

// created returns the object that a write creates.
func (p *programs) created(pod programPod, w write) object {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	switch w.verb {
	case "create":
		return w.body
	case "Lease":
		return object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": w.name}, "spec": object{
			"holderIdentity": pod.Metadata.Name, "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now,
		}}
	}
	return object{"apiVersion": "v1", "kind": w.kind, "metadata": object{"name": w.name}, "data": p.data(w)}
}

// data is the content of a Secret, which is base64 in JSON, or of a ConfigMap.
func (p *programs) data(w write) object {
	if w.kind == "ConfigMap" {
		return object{w.key: string(p.bundle)}
	}
	return object{w.key: p.bundle}
}

// writeBundles sets the CA bundles that an object lacks.
func (p *programs) writeBundles(ctx context.Context, by author, at string, live object) error {
	var holders []string
	switch live["kind"] {
	case "APIService":
		holders = []string{"/spec"}
	case "CustomResourceDefinition":
		holders = []string{"/spec/conversion/webhook/clientConfig"}
	default:
		webhooks, _ := live["webhooks"].([]any)
		for i := range webhooks {
			holders = append(holders, fmt.Sprintf("/webhooks/%d/clientConfig", i))
		}
	}
	var patch []object
	for _, holder := range holders {
		if isEmpty(valueAt(map[string]any(live), append(strings.Split(holder, "/")[1:], "caBundle"))) {
			patch = append(patch, object{"op": "add", "path": holder + "/caBundle", "value": p.bundle})
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return by.patch(ctx, at, jsonPatch, patch)
}

// An author writes as a user, under the name of a field manager.
type author struct {
	api           *client
	user, manager string
}

// create creates an object at its path.
func (a author) create(ctx context.Context, at string, o object) error {
	return a.api.send(ctx, request{method: http.MethodPost, path: path.Dir(at) + "?fieldManager=" + a.manager, user: a.user, body: o}, nil)
}

func (a author) patch(ctx context.Context, at, contentType string, body any) error {
	return a.api.send(ctx, request{method: http.MethodPatch, path: at + "?fieldManager=" + a.manager, contentType: contentType, user: a.user, body: body}, nil)
}

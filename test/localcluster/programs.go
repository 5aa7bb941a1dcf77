package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// The annotations by which a Pod depends on other objects, in the order in which a program comes to
// them. kwok cannot look at other objects: this component does, and removes an annotation from the
// Pod once it is fulfilled; the stages select on the remaining ones.
const (
	startsWhen   = "localcluster/starts-when"
	pullsFor     = "localcluster/pulls-for" // kwok's alone
	crashesUntil = "localcluster/crashes-until"
	readyWhen    = "localcluster/ready-when"
	writes       = "localcluster/writes"
	maintains    = "localcluster/maintains" // never removed

	behaviour = "localcluster/behaviour"
)

// programInterval is how often programs look at their prerequisites.
const programInterval = 200 * time.Millisecond

// programs do the work of the programs in Pods.
type programs struct {
	api    *client
	kinds  *kinds
	events *events
	bundle []byte // the CA of the cluster, as PEM
}

// runPodPrograms runs the programs of the cluster's Pods, until ctx ends.
func (c *cluster) runPodPrograms(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	bundle, err := os.ReadFile(c.cert("ca.crt"))
	if err != nil {
		return err
	}
	p := &programs{api: api, kinds: &kinds{api: api}, events: &events{api: api, last: map[string]time.Time{}}, bundle: bundle}
	changes := make(chan podChange, 100)
	go p.watch(ctx, changes)
	return p.run(ctx, changes)
}

// run looks at each Pod with an annotation of a program, again and again.
func (p *programs) run(ctx context.Context, changes <-chan podChange) error {
	pods := map[string]programPod{} // by UID
	tick := time.NewTicker(programInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case change := <-changes:
			change.apply(pods)
		case <-tick.C:
			for _, uid := range slices.Sorted(maps.Keys(pods)) {
				if err := p.goOn(ctx, pods[uid]); err != nil && ctx.Err() == nil {
					fmt.Printf("%s %s: %v\n", time.Now().Format(time.TimeOnly), pods[uid], err)
				}
			}
		}
	}
}

// A podChange is an event of a watch; one without a type says that the watch begins anew.
type podChange struct {
	Type   string
	Object programPod
}

func (change podChange) apply(pods map[string]programPod) {
	pod := change.Object
	switch {
	case change.Type == "":
		clear(pods)
	case change.Type == "DELETED" || !pod.isProgram():
		delete(pods, pod.Metadata.UID)
	default:
		pods[pod.Metadata.UID] = pod
	}
}

// watch sends the Pods of the cluster and their changes. A watch without a resourceVersion begins
// with all that exist, and the server ends it after some minutes.
func (p *programs) watch(ctx context.Context, changes chan<- podChange) {
	unlimited := &http.Client{Transport: p.api.http.Transport}
	for ctx.Err() == nil {
		res, err := p.api.open(ctx, unlimited, request{method: http.MethodGet, path: "/api/v1/pods?watch=true"})
		if err != nil {
			time.Sleep(programInterval)
			continue
		}
		changes <- podChange{}
		for lines := json.NewDecoder(res.Body); ; {
			var change podChange
			if lines.Decode(&change) != nil || change.Type == "ERROR" {
				break
			}
			changes <- change
		}
		res.Body.Close()
	}
}

// A programPod has the fields of a Pod for its program.
type programPod struct {
	Metadata struct {
		Name, Namespace, UID string
		Annotations          map[string]string
		DeletionTimestamp    string
	}
	Spec struct {
		NodeName, RestartPolicy, ServiceAccountName string
		Containers                                  []struct{ Name string }
	}
	Status struct {
		Phase             string
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			State struct{ Running *struct{} }
		}
	}
}

func (pod programPod) String() string { return pod.Metadata.Namespace + "/" + pod.Metadata.Name }

func (pod programPod) path() string {
	return "/api/v1/namespaces/" + pod.Metadata.Namespace + "/pods/" + pod.Metadata.Name
}

// isProgram reports whether there may be something to do for the Pod.
func (pod programPod) isProgram() bool {
	ended := pod.Metadata.DeletionTimestamp != "" || pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed"
	return !ended && pod.Spec.NodeName != "" && slices.ContainsFunc([]string{startsWhen, crashesUntil, readyWhen, writes, maintains},
		func(key string) bool { return pod.Metadata.Annotations[key] != "" })
}

func (pod programPod) runs() bool {
	for _, container := range pod.Status.ContainerStatuses {
		if container.State.Running == nil {
			return false
		}
	}
	return pod.Status.Phase == "Running"
}

func (pod programPod) isReady() bool {
	return slices.Contains(pod.Status.Conditions, struct{ Type, Status string }{"Ready", "True"})
}

// goOn does the next that the program of a Pod can do.
func (p *programs) goOn(ctx context.Context, pod programPod) error {
	has := func(key string) bool { return pod.Metadata.Annotations[key] != "" }
	switch {
	case has(startsWhen):
		return p.mount(ctx, pod)
	case has(pullsFor):
		return nil
	case has(crashesUntil):
		return p.crash(ctx, pod)
	case !pod.runs():
		return nil
	case has(readyWhen):
		return p.probe(ctx, pod)
	case has(writes):
		if err := p.writeAll(ctx, pod, writes); err != nil {
			return err
		}
		return p.annotate(ctx, pod, object{writes: nil})
	case has(maintains) && pod.isReady():
		return p.writeAll(ctx, pod, maintains)
	}
	return nil
}

// mount starts a Pod whose volumes can be mounted.
func (p *programs) mount(ctx context.Context, pod programPod) error {
	missing, err := p.missing(ctx, pod, startsWhen)
	if err != nil {
		return err
	}
	if missing != "" {
		return p.events.warn(ctx, pod, "FailedMount", "MountVolume.SetUp failed for volume: "+missing)
	}
	return p.annotate(ctx, pod, object{startsWhen: nil})
}

// crash lets a program end with an error until it finds its needs. Where its containers are not
// restarted, the Pod fails.
func (p *programs) crash(ctx context.Context, pod programPod) error {
	missing, err := p.missing(ctx, pod, crashesUntil)
	switch {
	case err != nil:
		return err
	case missing == "":
		return p.annotate(ctx, pod, object{crashesUntil: nil, behaviour: nil})
	case pod.Metadata.Annotations[behaviour] != "":
		return nil
	case pod.Spec.RestartPolicy == "Never":
		return p.annotate(ctx, pod, object{behaviour: "fail"})
	}
	return p.annotate(ctx, pod, object{behaviour: "crash-loop"})
}

// probe makes a program with its prerequisites ready.
func (p *programs) probe(ctx context.Context, pod programPod) error {
	missing, err := p.missing(ctx, pod, readyWhen)
	if err != nil {
		return err
	}
	if missing != "" {
		return p.events.warn(ctx, pod, "Unhealthy", "Readiness probe failed: "+missing)
	}
	return p.annotate(ctx, pod, object{readyWhen: nil})
}

// missing returns the first condition of an annotation that does not hold; "" means all hold.
func (p *programs) missing(ctx context.Context, pod programPod, key string) (string, error) {
	for text := range entries(pod.Metadata.Annotations[key]) {
		c, err := parseCondition(text)
		if err != nil {
			return "", errors.Join(err, p.events.warn(ctx, pod, "InvalidAnnotation", key+": "+err.Error()))
		}
		if holds, err := p.holds(ctx, c); err != nil || !holds {
			return text + " is missing", err
		}
	}
	return "", nil
}

// writeAll does all that an annotation lists. The error is that of the first write that failed.
func (p *programs) writeAll(ctx context.Context, pod programPod, key string) error {
	for text := range entries(pod.Metadata.Annotations[key]) {
		w, err := parseWrite(text)
		if err != nil {
			return errors.Join(err, p.events.warn(ctx, pod, "InvalidAnnotation", key+": "+err.Error()))
		}
		if err := p.write(ctx, pod, w); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// entries splits the value of an annotation at its semicolons.
func entries(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text := range strings.SplitSeq(value, ";") {
			if text = strings.TrimSpace(text); text != "" && !yield(text) {
				return
			}
		}
	}
}

// annotate changes annotations of a Pod; nil removes one.
func (p *programs) annotate(ctx context.Context, pod programPod, changes object) error {
	err := p.api.send(ctx, request{
		method: http.MethodPatch, path: pod.path(), contentType: mergePatch,
		body: object{"metadata": object{"uid": pod.Metadata.UID, "annotations": changes}},
	}, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil // deleted meanwhile
	}
	return err
}

const (
	mergePatch = "application/merge-patch+json"
	jsonPatch  = "application/json-patch+json"
)

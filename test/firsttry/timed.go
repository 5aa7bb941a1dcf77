package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/unkind"
)

// timed are the times of a stream.
type timed struct {
	Stream  string   `json:"stream"`
	Objects int      `json:"objects"`
	Samples []sample `json:"samples"`
}

// sample is one round: the times, in seconds, until all is ready. test/compare reads it.
type sample struct {
	Round    int     `json:"round"`
	Wall     float64 `json:"wall"`     // of ordapply
	Grace    float64 `json:"grace"`    // of it, for a status that never came
	Critical float64 `json:"critical"` // the longest chain of the objects' own times in the same run
	Alone    float64 `json:"alone"`    // of kubectl, which sends everything again until it is accepted
	Failed   string  `json:"failed,omitempty"`
}

const (
	// alonePause is the pause between two tries of kubectl.
	alonePause = 200 * time.Millisecond
	// alonePatience limits all of them, and the time until all is ready.
	alonePatience = 5 * time.Minute
	// quiet is how long nothing more becomes ready at the end: a custom resource may get a
	// status, or not.
	quiet = 3 * time.Second
)

// times measures streams in rounds. Every second round begins with the other program. A round
// that fails is a sample with its error, and joined in the error.
func (t *trial) times(ctx context.Context, chosen []stream, rounds int) ([]timed, error) {
	var all []timed
	var errs []error
	for _, s := range chosen {
		objects, err := s.read(t.folder)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		objects = s.without(objects)
		measured := timed{Stream: s.name, Objects: len(objects)}
		for round := range rounds {
			one, err := t.time(ctx, s, objects, round)
			if err != nil {
				err = fmt.Errorf("%s, round %d: %w", s.name, round+1, err)
				one = sample{Round: round, Failed: lastLines(err.Error(), 1)}
				errs = append(errs, err)
				fmt.Fprintln(t.progress, err)
			}
			if ctx.Err() != nil {
				return all, errors.Join(errs...)
			}
			fmt.Fprintf(t.progress, "%s, round %d of %d: by itself %.2fs, critical path %.2fs, ordapply %.2fs, %.1fs of them grace\n", s.name, round+1, rounds, one.Alone, one.Critical, one.Wall, one.Grace)
			measured.Samples = append(measured.Samples, one)
		}
		all = append(all, measured)
	}
	return all, errors.Join(errs...)
}

func (t *trial) time(ctx context.Context, s stream, objects []*unstructured.Unstructured, round int) (sample, error) {
	found := sample{Round: round}
	sides := []func() error{
		func() error {
			return t.watched(ctx, s, func(p *place, o *observer.Observer) error { return p.timeOrdapply(ctx, s, objects, o, &found) })
		},
		func() error {
			return t.watched(ctx, s, func(p *place, o *observer.Observer) error { return p.timeAlone(ctx, s, objects, o, &found) })
		},
	}
	if round%2 == 1 {
		slices.Reverse(sides)
	}
	return found, errors.Join(sides[0](), sides[1]())
}

// watched starts a control plane for a stream, with an observer, and measures there.
func (t *trial) watched(ctx context.Context, s stream, measure func(*place, *observer.Observer) error) (err error) {
	p, err := openFor(ctx, t.dir, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	o, err := observer.StartAll(ctx, p.Kubeconfig)
	if err != nil {
		return err
	}
	defer o.Stop()
	return measure(p, o)
}

// timeOrdapply measures ordapply, and the critical path of the same run.
func (p *place) timeOrdapply(ctx context.Context, s stream, objects []*unstructured.Unstructured, o *observer.Observer, into *sample) error {
	file, err := p.write(objects)
	if err != nil {
		return err
	}
	planned, err := p.plan(ctx, file, s.flags())
	if err != nil {
		return err
	}
	got, err := p.ordapply(ctx, file, s.flags()...)
	if err != nil {
		return err
	}
	if got.code != 0 {
		return fmt.Errorf("ordapply ended with exit code %d:\n%s", got.code, lastLines(got.stderr, 20))
	}
	grace, err := graceOf(strings.NewReader(got.stdout))
	if err != nil {
		return err
	}
	o.Stop()
	m, err := momentsOf(p.AuditLog(), o, "ordapply/")
	if err != nil {
		return err
	}
	into.Wall, into.Grace, into.Critical = got.took.Seconds(), grace.Seconds(), planned.critical(m).Seconds()
	return nil
}

// timeAlone measures how long it takes until kubectl has applied everything and all of it is
// ready, as the observer sees it.
func (p *place) timeAlone(ctx context.Context, s stream, objects []*unstructured.Unstructured, o *observer.Observer, into *sample) error {
	objects = withoutNulls(installed(objects))
	begin := time.Now()
	last, err := p.sendAlone(ctx, s, objects, o, begin.Add(alonePatience))
	if err != nil {
		return err
	}
	for time.Since(o.Last()) < quiet && time.Since(begin) < alonePatience && ctx.Err() == nil {
		time.Sleep(alonePause)
	}
	o.Stop()
	m, err := momentsOf(p.AuditLog(), o, "kubectl/")
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if _, at, ok := m.of(resourceOf(obj, s.namespace)); ok && at.ready.After(last) {
			last = at.ready
		}
	}
	into.Alone = last.Sub(begin).Seconds()
	return ctx.Err()
}

// installed returns the objects without the Helm hooks that an install does not run.
func installed(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(obj *unstructured.Unstructured) bool {
		event, hook := obj.GetAnnotations()["helm.sh/hook"]
		return hook && !strings.Contains(event, "-install")
	})
}

// withoutNulls returns objects without fields that are null, which is the same to an API server that
// takes them: kubectl sends them, and where a schema has no null the object is never accepted.
func withoutNulls(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, obj := range objects {
		obj = obj.DeepCopy()
		dropNulls(obj.Object)
		all = append(all, obj)
	}
	return all
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
		for _, field := range v {
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// sendAlone applies objects with kubectl, and waits until those are ready that the observer
// judges. Helm's order is the stream's own: pre-install hooks have ended before the rest is
// sent. It returns when the last of them were accepted.
func (p *place) sendAlone(ctx context.Context, s stream, objects []*unstructured.Unstructured, o *observer.Observer, deadline time.Time) (accepted time.Time, err error) {
	text, err := p.manifests(objects)
	if err != nil {
		return accepted, err
	}
	parts, err := unkind.Parts(text)
	if err != nil {
		return accepted, err
	}
	file := filepath.Join(p.dir, "stream.yaml")
	for i, part := range parts {
		if err := os.WriteFile(file, part, 0o644); err != nil {
			return accepted, err
		}
		if err := p.untilAccepted(ctx, file, s, o, deadline); err != nil {
			return accepted, err
		}
		accepted = time.Now()
		waited := objects
		if i < len(parts)-1 {
			waited = slices.DeleteFunc(slices.Clone(objects), func(obj *unstructured.Unstructured) bool {
				return !strings.Contains(obj.GetAnnotations()["helm.sh/hook"], "pre-install")
			})
		}
		if err := untilReady(ctx, o, waited, s.namespace, deadline); err != nil {
			return accepted, err
		}
	}
	return accepted, nil
}

// untilAccepted applies a file with kubectl, and again what was not accepted, until nothing is left.
// What an API server took once it may refuse later: a controller changes a field, or writes the object in
// a version without one of its fields.
func (p *place) untilAccepted(ctx context.Context, file string, s stream, o *observer.Observer, deadline time.Time) error {
	for {
		got, err := command(ctx, p.KubectlCommand(append([]string{"apply", "--server-side", "-f", file}, s.flags()...)...))
		if err != nil || got.code == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kubectl did not succeed in %s:\n%s", alonePatience, lastLines(got.stderr, 5))
		}
		left, err := p.refused(file, s, o)
		if err != nil || len(left) == 0 {
			return err
		}
		if err := p.writeTo(file, left); err != nil {
			return err
		}
		time.Sleep(alonePause)
	}
}

// refused returns the objects of a file that kubectl has not written so far.
func (p *place) refused(file string, s stream, o *observer.Observer) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	m, err := momentsOf(p.AuditLog(), o, "kubectl/")
	return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		_, _, written := m.of(resourceOf(obj, s.namespace))
		return written
	}), err
}

// untilReady waits until the observer has seen each object ready whose kind it judges.
func untilReady(ctx context.Context, o *observer.Observer, objects []*unstructured.Unstructured, namespace string, deadline time.Time) error {
	for _, obj := range objects {
		r := resourceOf(obj, namespace)
		if !observer.Judged(r.Group, keysOf(r)[0].Resource) {
			continue
		}
		for !slices.ContainsFunc(keysOf(r), func(k auditlog.Key) bool { _, ok := o.ReadyAt(k); return ok }) {
			if ctx.Err() != nil || time.Now().After(deadline) {
				return errors.Join(ctx.Err(), fmt.Errorf("%s is not ready after %s", r, alonePatience))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// resourceOf names an object that is applied with -n namespace.
func resourceOf(obj *unstructured.Unstructured, namespace string) object.ID {
	gvk := obj.GroupVersionKind()
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if id.Namespace == "" {
		id.Namespace = namespace
	}
	return id
}

func writeTimes(file string, all []timed) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

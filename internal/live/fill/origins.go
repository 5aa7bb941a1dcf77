package fill

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Origins finds the values of live objects that come from Secrets, directly or by way of other
// objects. Objects that left the stream say so only in their live annotations. It is not safe
// for concurrent use.
type Origins struct {
	sources   Sources
	secretive mutation.Secretive // of the stream
	read      map[object.ID]answer
}

type answer struct {
	live *unstructured.Unstructured
	err  error
}

// Origins returns an Origins; secretive are the objects of the stream that take values of
// Secrets. It reads each object once.
func (s Sources) Origins(secretive mutation.Secretive) *Origins {
	return &Origins{sources: s, secretive: secretive, read: map[object.ID]answer{}}
}

// PlacesIn returns the places in a live object of the values that it has taken from Secrets.
// A value counts as one if it cannot be found out.
func (o *Origins) PlacesIn(ctx context.Context, live *unstructured.Unstructured) []mutation.Place {
	if live == nil {
		return nil
	}
	var places []mutation.Place
	for _, e := range mutation.Carried(live) {
		if o.isSecret(ctx, live, e, map[object.ID]bool{}) {
			places = append(places, e.Targets())
		}
	}
	return places
}

// value returns the value that an entry of a manifest takes. Whether it comes from a Secret
// is known with an error, too.
func (o *Origins) value(ctx context.Context, manifest *unstructured.Unstructured, e mutation.Entry) (mutation.Value, error) {
	id, kind, open := o.sources.locate(manifest, e.Source)
	var value mutation.Value
	if value.Secret = o.secretive.Is(e, manifest.GetNamespace()); !value.Secret && open == nil {
		live, err := o.get(ctx, id, kind)
		if err != nil {
			return value, err
		}
		value.Secret = o.takesSecrets(ctx, live, map[object.ID]bool{id: true})
	}
	if value.Secret {
		if err := e.CheckSecret(); err != nil {
			return value, fmt.Errorf("%s: %w", id, err)
		}
	}
	if open != nil {
		return value, open
	}
	live, err := o.get(ctx, id, kind)
	if err != nil {
		return value, err
	}
	if value.Is, err = e.Read(live.Object); err != nil {
		return value, fmt.Errorf("%s: %w", id, err)
	}
	return value, nil
}

// maxOrigins bounds the objects through which a value is followed. One that has come further
// counts as a Secret's.
const maxOrigins = 50

// isSecret reports whether a live object has the value of an entry from a Secret. seen are
// the objects that are being followed.
func (o *Origins) isSecret(ctx context.Context, live *unstructured.Unstructured, e mutation.Entry, seen map[object.ID]bool) bool {
	if o.secretive.Is(e, live.GetNamespace()) {
		return true
	}
	id, kind, err := o.locate(live, e.Source)
	if seen[id] {
		return false // it is looked at already
	}
	seen[id] = true
	if err != nil || len(seen) > maxOrigins {
		return true
	}
	source, err := o.get(ctx, id, kind)
	return err != nil || o.takesSecrets(ctx, source, seen)
}

// takesSecrets reports whether a live object has values of Secrets, or an object that owns it,
// as a StatefulSet owns its Pods. An owner that cannot be read counts as one without.
func (o *Origins) takesSecrets(ctx context.Context, live *unstructured.Unstructured, seen map[object.ID]bool) bool {
	for _, e := range mutation.Carried(live) {
		if o.isSecret(ctx, live, e, seen) {
			return true
		}
	}
	for _, ref := range live.GetOwnerReferences() {
		id, kind, err := o.locate(live, mutation.Reference{Kind: ref.Kind, APIVersion: ref.APIVersion, Name: ref.Name})
		if err != nil || seen[id] {
			continue
		}
		seen[id] = true
		if owner, err := o.get(ctx, id, kind); err == nil && (len(seen) > maxOrigins || o.takesSecrets(ctx, owner, seen)) {
			return true
		}
	}
	return false
}

// locate is Sources.locate; an object is read as it is, even if the run changes it.
func (o *Origins) locate(live *unstructured.Unstructured, source mutation.Reference) (object.ID, kube.Kind, error) {
	sources := o.sources
	sources.IsOpen = nil
	return sources.locate(live, source)
}

// get returns a live object.
func (o *Origins) get(ctx context.Context, id object.ID, kind kube.Kind) (*unstructured.Unstructured, error) {
	if known, has := o.read[id]; has {
		return known.live, known.err
	}
	live, err := kube.WithRetry(ctx, kube.DescribeRequest("read", kind, id.Namespace, id.Name), func() (*unstructured.Unstructured, error) {
		return o.sources.Cluster.Get(ctx, kind, id.Namespace, id.Name)
	})
	switch {
	case fault.IsMissing(err):
		err = fmt.Errorf("%s: %w", id, errMissing)
	case err != nil:
		err = fmt.Errorf("read %s: %w", id, fault.Explain(err))
	}
	o.read[id] = answer{live, err}
	return live, err
}

// Package fill reads the values that manifests take from other objects
// (config.kubernetes.io/apply-time-mutation) from the cluster.
//
//	sources := fill.Sources{Cluster: cluster, Version: versionInStream}
//	filled, err := sources.Fill(ctx, manifest, secretive)
//	filled.Manifest // to be applied
package fill

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Cluster is the source of the values; kube.Cluster is one.
type Cluster interface {
	kube.Discovery
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
}

// Sources are the objects of a cluster that values are taken from.
type Sources struct {
	Cluster Cluster
	// Version returns the version of an object in the stream, in which it is read unless the
	// entry names one; "" for one that is not in the stream.
	Version func(object.ID) string
	// IsOpen reports, before a run, whether that may still change an object. Values of such
	// objects, and missing ones, are Unknown. It is nil in the run, where a missing value is an
	// error.
	IsOpen func(object.ID) bool
}

// Unknown stands for a value that only the run finds out.
const Unknown = "(known after apply)"

// Filled is a manifest with the values that it takes.
type Filled struct {
	Manifest *unstructured.Unstructured
	Places   []mutation.Place // of values of Secrets in it
	Secrets  []string         // these values, in the forms in which an error may repeat them
	Unknown  []mutation.Entry // the entries whose values are Unknown
}

// Fill returns a manifest with the values of its entries; secretive are the objects of the
// stream that take values of Secrets. Each object is read once. The error names the entry and
// the object.
func (s Sources) Fill(ctx context.Context, manifest *unstructured.Unstructured, secretive mutation.Secretive) (Filled, error) {
	entries, err := mutation.Of(manifest.GetAnnotations())
	if err != nil {
		return Filled{}, err
	}
	var out Filled
	var secrets []any
	values, origins := make([]mutation.Value, len(entries)), s.Origins(secretive)
	for i, e := range entries {
		switch value, err := origins.value(ctx, manifest, e); {
		case s.IsOpen != nil && (errors.Is(err, errMissing) || errors.Is(err, mutation.ErrNoValue)):
			value.Is, out.Unknown = Unknown, append(out.Unknown, e)
			values[i] = value
		case err != nil:
			return Filled{}, mutation.InEntry(i, err)
		default:
			values[i] = value
			if value.Secret {
				secrets = append(secrets, value.Is)
			}
		}
	}
	filled, places, err := mutation.Fill(manifest.Object, entries, values)
	out.Manifest, out.Places, out.Secrets = &unstructured.Unstructured{Object: filled}, places, redact.Forms(secrets...)
	return out, err
}

// errMissing is the error of an object that does not exist, or is still open.
var errMissing = errors.New("it does not exist")

// locate returns the object that a manifest's reference means, and how its kind is served.
func (s Sources) locate(manifest *unstructured.Unstructured, source mutation.Reference) (object.ID, kube.Kind, error) {
	id, kinds := source.ID(), kube.KindsOf(s.Cluster)
	gvk := schema.GroupVersionKind{Group: id.Group, Version: source.Version(), Kind: id.Kind}
	kind, served := kinds(gvk)
	if served && !kind.Namespaced {
		id.Namespace = ""
	} else if id.Namespace == "" {
		id.Namespace = manifest.GetNamespace()
	}
	if version := s.Version(id); version != "" && gvk.Version == "" {
		gvk.Version = version
		kind, served = kinds(gvk)
	}
	switch {
	case s.IsOpen != nil && s.IsOpen(id):
		return id, kind, fmt.Errorf("%s: %w", id, errMissing)
	case !served:
		return id, kind, fmt.Errorf("%s: its kind is not served: %w", id, errMissing)
	}
	return id, kind, nil
}

// Note describes the values that only the run finds out; "" if there are none.
func (f Filled) Note() string {
	var of []string
	for _, e := range f.Unknown {
		of = append(of, fmt.Sprintf("%s (%s of %s)", e.TargetPath, e.SourcePath, e.Source.ID()))
	}
	if len(of) == 0 {
		return ""
	}
	return "known after apply: " + strings.Join(of, ", ")
}

// Package mutation reads the annotation config.kubernetes.io/apply-time-mutation of
// cli-utils and kpt live, and fills in the values that it asks for: fields of other objects,
// read once these objects are ready.
//
//	entries, err := mutation.Of(manifest.GetAnnotations())
//	value, err := entries[0].Read(source.Object)             // "10.0.0.1", at sourcePath
//	filled, places, err := mutation.Fill(manifest.Object, entries, []mutation.Value{{Is: value}})
//
// Paths are JSONPath as cli-utils reads it, by the same library. places are where values of
// Secrets are in the result; Secretive knows which values these are.
package mutation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
)

// Annotation is the key. Its value is a list of entries, in YAML or JSON.
const Annotation = "config.kubernetes.io/apply-time-mutation"

// Entry takes the value of a field of one object into a field of the annotated one.
type Entry struct {
	Source     Reference `json:"sourceRef"`
	SourcePath string    `json:"sourcePath"` // must match one value
	TargetPath string    `json:"targetPath"` // must match one field of the manifest
	// Token is the part of the field's text that the value replaces, wherever it occurs;
	// "": the value replaces the whole field, and keeps its type.
	Token string `json:"token,omitempty"`
}

// Reference names an object. Group takes precedence over APIVersion, whose version the
// object is read in. Without a namespace it is in the annotated object's, unless its kind
// is cluster-scoped.
type Reference struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion,omitempty"`
	Group      string `json:"group,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// ID returns the ID of the object, with the namespace as it is written.
func (r Reference) ID() object.ID {
	group, _ := object.SplitAPIVersion(r.APIVersion)
	if r.Group != "" {
		group = r.Group
	}
	return object.ID{Group: group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// Version returns the version in which the object is read; "" for the stream's or the
// API server's.
func (r Reference) Version() string {
	if r.Group != "" {
		return ""
	}
	_, version := object.SplitAPIVersion(r.APIVersion)
	return version
}

// Has reports whether an object takes values from others.
func Has(annotations map[string]string) bool {
	_, has := annotations[Annotation]
	return has
}

// In is Has for a decoded object.
func In(obj map[string]any) bool {
	_, has := object.Annotation(obj, Annotation)
	return has
}

// Of returns the entries of an object's annotation; none without it. The error names the
// annotation, and the entry.
func Of(annotations map[string]string) ([]Entry, error) {
	text, has := annotations[Annotation]
	if !has {
		return nil, nil
	}
	var entries []Entry
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("annotation %s: it must be a list of sourceRef, sourcePath, targetPath and token: %w", Annotation, err)
	}
	for i, e := range entries {
		if err := e.check(); err != nil {
			return nil, InEntry(i, err)
		}
	}
	return entries, nil
}

// InEntry returns an error about the entry at an index: it names the annotation and the entry.
func InEntry(i int, err error) error {
	return fmt.Errorf("annotation %s, entry %d: %w", Annotation, i+1, err)
}

func inPath(field, path string, err error) error {
	return fmt.Errorf("%s: %w", strings.TrimSpace(field+" "+path), err)
}

func (e Entry) check() error {
	if e.Source.Kind == "" || e.Source.Name == "" {
		return errors.New("sourceRef needs kind and name")
	}
	if _, err := parse(e.SourcePath); err != nil {
		return inPath("sourcePath", e.SourcePath, err)
	}
	if _, err := parse(e.TargetPath); err != nil {
		return inPath("targetPath", e.TargetPath, err)
	}
	return nil
}

// CheckTargets returns an error for an entry whose target is certainly not in the manifest.
// A target may be part of the value of an earlier entry.
func CheckTargets(manifest map[string]any, entries []Entry) error {
	for i, e := range entries {
		if _, err := e.target(manifest); err != nil {
			return InEntry(i, err)
		}
		if e.Token == "" {
			break
		}
	}
	return nil
}

// ErrNoValue is the error of Read when nothing is at the path.
var ErrNoValue = errors.New("there is no such field")

// Read returns the value at the source path of a source object.
func (e Entry) Read(source map[string]any) (any, error) {
	found, err := find(source, e.SourcePath)
	switch {
	case err != nil:
	case len(found) == 0:
		err = ErrNoValue
	case len(found) > 1:
		err = fmt.Errorf("it matches %d values: it must match one", len(found))
	default:
		return found[0].value, nil
	}
	return nil, inPath("sourcePath", e.SourcePath, err)
}

// target returns the field of a manifest that an entry fills. Identifying fields cannot
// be filled: plans and lookups use them.
func (e Entry) target(manifest map[string]any) (match, error) {
	found, err := find(manifest, e.TargetPath)
	switch {
	case err != nil:
	case len(found) == 0:
		err = errors.New("the manifest has no such field: write it with a placeholder")
	case len(found) > 1:
		err = fmt.Errorf("it matches %d fields: it must match one", len(found))
	case len(found[0].place) == 0 || identifies(found[0].place):
		err = errors.New("it must be a field that does not identify the object")
	case e.Token == "":
		return found[0], nil
	default:
		if _, isText := found[0].value.(string); isText {
			return found[0], nil
		}
		err = errors.New("the field is no string, so token cannot be replaced in it: leave token out, or quote the field's value")
	}
	return match{}, inPath("targetPath", e.TargetPath, err)
}

func identifies(place []any) bool {
	if place[0] != "metadata" {
		return len(place) == 1 && (place[0] == "kind" || place[0] == "apiVersion")
	}
	return len(place) == 1 || slices.Contains([]any{"name", "namespace", "generateName", "uid", "resourceVersion"}, place[1])
}

// Package manifest reads streams of Kubernetes manifests, as kustomize and `helm template`
// print them, with the position of each. It reports all errors of a stream together.
//
//	manifests, err := manifest.Read("STDIN", os.Stdin)
//	stream, err := apply.NewStream(apply.Inputs(manifests), apply.Scope{Namespace: "shop"})
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
)

// Manifest is one object of a stream.
type Manifest struct {
	*unstructured.Unstructured
	// Source is its position for display: "STDIN, document 7 (line 120)".
	Source string
	// Chart is the path of the Helm chart that rendered it, "foo/charts/bar",
	// from the comments of `helm template`; "" without a comment.
	Chart string
	// CRDFolder is set if it is from a chart's folder crds, by the same comment.
	CRDFolder bool
	// Text is the original text of the document; nil for an item of a List.
	Text []byte
}

// Read parses a stream of YAML or JSON documents, in UTF-8 or UTF-16. name is
// the stream in Source and in errors. Lists, including typed ones such as RoleList, are
// replaced by their items. Documents without content and local configuration
// (object.Meta.IsLocalConfig) are skipped.
//
// The error joins the documents' errors, each with its position: invalid YAML,
// duplicate keys, objects that cannot be applied by name, labels and annotations that
// are not strings. It quotes no values, which may be passwords. An error of the stream
// itself ends it.
func Read(name string, stream io.Reader) ([]Manifest, error) {
	return readAll(name, stream, func(obj *unstructured.Unstructured) (bool, error) {
		if isLocal(obj) {
			return false, nil
		}
		return true, check(obj)
	})
}

// ReadLive reads objects from a cluster, or from notes and tests. Unlike
// manifests to apply, they may have no name. On error it also returns the
// objects that it could read.
func ReadLive(name string, stream io.Reader) ([]Manifest, error) {
	return readAll(name, stream, func(obj *unstructured.Unstructured) (bool, error) {
		return true, errors.Join(checkKind(obj), checkTexts(obj, "annotations"))
	})
}

// filter reports whether to return an object, and its faults.
type filter func(*unstructured.Unstructured) (bool, error)

func readAll(name string, stream io.Reader, want filter) ([]Manifest, error) {
	var manifests []Manifest
	var errs []error
	repeated := 0
	var over atomic.Bool // repeated is above the limit
	for result := range inOrder(stream, func(docs []document) parsed {
		if over.Load() {
			return parsed{}
		}
		return parse(name, docs, want)
	}) {
		one := <-result
		if one.broken != nil {
			return manifests, errors.Join(append(errs, fmt.Errorf("%s: %w", name, one.broken))...)
		}
		if repeated += one.repeated; repeated > limits.StreamAliases {
			over.Store(true)
			continue
		}
		manifests, errs = append(manifests, one.manifests...), append(errs, one.errs...)
	}
	if over.Load() {
		errs = append(errs, fmt.Errorf("%s: the aliases of its documents expand to more than %d MiB: replace aliases with their values", name, limits.StreamAliases>>20))
	}
	return manifests, errors.Join(errs...)
}

// parsed is the result of parsing documents.
type parsed struct {
	manifests []Manifest
	errs      []error
	repeated  int   // bytes that aliases repeat
	broken    error // an error of the stream, which ends here
}

// inOrder parses the groups of a stream's documents concurrently and returns their
// results in order. The channel must be read to its end.
func inOrder(stream io.Reader, read func([]document) parsed) <-chan chan parsed {
	results := make(chan chan parsed, 2*runtime.GOMAXPROCS(0))
	go func() {
		defer close(results)
		for docs, err := range groups(documents(stream)) {
			result := make(chan parsed, 1)
			results <- result
			if err != nil {
				result <- parsed{broken: err}
				return
			}
			go func() { result <- read(docs) }()
		}
	}()
	return results
}

// parse parses documents of a stream.
func parse(name string, docs []document, want filter) (out parsed) {
	for i, one := range decodeAll(docs) {
		out.add(fmt.Sprintf("%s, document %d (line %d)", name, docs[i].number, docs[i].first), docs[i], one, want)
	}
	return out
}

// add adds the manifests and errors of a document.
func (p *parsed) add(source string, doc document, one decoded, want filter) {
	fail := func(err error) { p.errs = append(p.errs, fmt.Errorf("%s: %w", source, err)) }
	if one.err != nil {
		fail(one.err)
		return
	}
	p.repeated += one.repeated
	objects, err := explode(one.object, 1)
	if err != nil {
		fail(err)
		return
	}
	for _, obj := range objects {
		ok, err := want(obj)
		if err != nil {
			fail(err)
		}
		if !ok || err != nil {
			continue
		}
		m := Manifest{Unstructured: obj, Source: source}
		m.Chart, m.CRDFolder = helmSource(doc.text)
		if obj == one.object {
			m.Text = doc.text
		}
		p.manifests = append(p.manifests, m)
	}
}

// explode returns the items of a List or typed List, recursively; other objects unchanged.
// depth is the number of Lists that a List is in, itself included. Items of a typed List may
// omit their kind.
func explode(obj *unstructured.Unstructured, depth int) ([]*unstructured.Unstructured, error) {
	if obj == nil {
		return nil, nil
	}
	itemKind, isList := strings.CutSuffix(obj.GetKind(), "List")
	items, hasItems := obj.Object["items"].([]any)
	if value, there := obj.Object["items"]; isList && there && value == nil {
		return nil, nil // kubectl prints empty lists this way
	}
	if !isList || !hasItems {
		return []*unstructured.Unstructured{obj}, nil
	}
	if depth > limits.ListDepth {
		return nil, fmt.Errorf("more than %d Lists are inside one another: put their items in one List", limits.ListDepth)
	}
	var out []*unstructured.Unstructured
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: items[%d] is not an object", obj.GetKind(), i)
		}
		u := &unstructured.Unstructured{Object: object}
		if u.GetKind() == "" && itemKind != "" {
			u.SetKind(itemKind)
			u.SetAPIVersion(obj.GetAPIVersion())
		}
		nested, err := explode(u, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, nested...)
	}
	return out, nil
}

// helmSource returns the chart in Helm's comment above a document, and whether it names
// a file of the chart's folder crds: "# Source: foo/charts/bar/templates/service.yaml".
func helmSource(text []byte) (chart string, crdFolder bool) {
	for line := range bytes.Lines(text) {
		if path, ok := strings.CutPrefix(string(line), "# Source: "); ok {
			templates, _, isTemplate := strings.Cut(path, "/templates/")
			crds, _, isCRD := strings.Cut(path, "/crds/")
			switch {
			case isCRD && (!isTemplate || len(crds) < len(templates)):
				return crds, true
			case isTemplate:
				return templates, false
			}
			return "", false
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return "", false
		}
	}
	return "", false
}

func isLocal(obj *unstructured.Unstructured) bool {
	gvk := obj.GroupVersionKind()
	return object.Meta{ID: object.ID{Group: gvk.Group, Kind: gvk.Kind}, Labels: obj.GetLabels(), Annotations: obj.GetAnnotations()}.IsLocalConfig()
}

func check(obj *unstructured.Unstructured) error {
	for _, err := range []error{checkTexts(obj, "labels"), checkTexts(obj, "annotations"), checkKind(obj), checkName(obj)} {
		if err != nil {
			return err
		}
	}
	switch {
	case obj.GetKind() == "SortOrder" && strings.HasPrefix(obj.GetAPIVersion(), "ordapply.dev/"):
		return fmt.Errorf("SortOrder %s is a configuration, not a resource: list it under transformers in the kustomization, annotate it with config.kubernetes.io/local-config: \"true\" in a kpt package, or pass it with --order", obj.GetName())
	case strings.HasPrefix(obj.GetAPIVersion(), "kustomize.config.k8s.io/"):
		return fmt.Errorf("%s is a kustomize configuration, not a resource: run kustomize build on its folder and pipe in the output", obj.GetKind())
	case obj.GetName() == "" && obj.GetGenerateName() != "" && obj.GetAnnotations()[argoHook] != "": // each run of a hook may have a name of its own
		return nil
	case obj.GetName() == "" && obj.GetGenerateName() != "":
		return GeneratedNameError(obj)
	case obj.GetName() == "":
		return fmt.Errorf("%s: metadata.name is missing", obj.GetKind())
	}
	return nil
}

// argoHook is Argo CD's annotation of hooks.
const argoHook = "argocd.argoproj.io/hook"

// GeneratedNameError is the error of an object that has only metadata.generateName. Read
// returns such an object if it is a hook of Argo CD.
func GeneratedNameError(obj *unstructured.Unstructured) error {
	return fmt.Errorf("%s %s…: metadata.generateName creates a new object on each run, but apply needs a stable name: set metadata.name, or create it with kubectl create", obj.GetKind(), obj.GetGenerateName())
}

func checkKind(obj *unstructured.Unstructured) error {
	switch {
	case obj.GetKind() == "":
		return errors.New("kind is missing")
	case obj.GetAPIVersion() == "":
		return fmt.Errorf("%s: apiVersion is missing", strings.TrimSpace(obj.GetKind()+" "+obj.GetName()))
	}
	return nil
}

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/standin"
)

// read returns the objects of a stream, including nameless ones.
func (s stream) read(folder string) ([]*unstructured.Unstructured, error) {
	text, err := s.text(folder)
	if err != nil {
		return nil, err
	}
	return parse(s.name, text)
}

// parse returns the objects of a text from a source.
func parse(source string, text []byte) ([]*unstructured.Unstructured, error) {
	manifests, err := manifest.ReadLive(source, bytes.NewReader(text))
	var objects []*unstructured.Unstructured
	for _, m := range manifests {
		objects = append(objects, m.Unstructured)
	}
	return objects, err
}

func (s stream) text(folder string) ([]byte, error) {
	if s.program != nil {
		return s.program.Stream, nil
	}
	return os.ReadFile(filepath.Join(folder, s.name+".yaml"))
}

// without removes the objects that no applier can apply.
func (s stream) without(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return s.leavesOut(o.GetKind(), o.GetName()) })
}

// kept returns the objects that are there after an install: all but Helm hooks that do
// not run then, or are deleted when they succeed, and Jobs that are deleted when they are
// finished.
func kept(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		event, hook := o.GetAnnotations()["helm.sh/hook"]
		policy := o.GetAnnotations()["helm.sh/hook-delete-policy"]
		_, brief, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "ttlSecondsAfterFinished")
		return brief || hook && (strings.Contains(policy, "hook-succeeded") || !strings.Contains(event, "-install"))
	})
}

// faulty returns the named objects that a cluster with only the stream's objects rejects.
func (s stream) faulty(objects []*unstructured.Unstructured) []object.ID {
	var faulty []object.ID
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		foreign := slices.ContainsFunc(s.finds, func(k standin.Kind) bool { return gvk.Group == k.Group && gvk.Kind == k.Kind })
		if foreign || o.GetName() != "" && s.leavesOut(o.GetKind(), o.GetName()) {
			faulty = append(faulty, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	return faulty
}

// shuffled returns the objects shuffled with a seed; 0 keeps their order.
func shuffled(objects []*unstructured.Unstructured, seed int) []*unstructured.Unstructured {
	objects = slices.Clone(objects)
	if seed > 0 {
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	}
	return objects
}

// before returns the manifests of the stream's prerequisites.
func (s stream) before() ([]byte, error) {
	var objects []map[string]any
	for _, name := range append(slices.Clone(s.namespaces), s.namespace) {
		if name != "" {
			objects = append(objects, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
		}
	}
	for _, kind := range s.finds {
		objects = append(objects, kind.CRD())
	}
	return encode(objects)
}

func contents(objects []*unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	for _, o := range objects {
		all = append(all, o.Object)
	}
	return all
}

func encode(objects []map[string]any) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("write a manifest: %w", err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

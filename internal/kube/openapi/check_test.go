package openapi_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/kube/openapi"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/testcluster"
)

// server is an API server without controllers, and its schemas.
type server struct {
	*kube.Kubernetes
	schemas client.Client
}

func start(t *testing.T) server {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Start(t, "--light").Kubeconfig)
	require.NoError(t, err)
	config.WarningHandler = rest.NoWarnings{}
	cluster, err := kube.Connect(config)
	require.NoError(t, err)
	folder := t.TempDir()
	kept := openapi.Folder{
		Read:  func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, name)) },
		Write: func(name string, text []byte) error { return os.WriteFile(filepath.Join(folder, name), text, 0o600) },
	}
	t.Cleanup(func() {
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.NotEmpty(t, files)
	})
	return server{cluster, openapi.Kept(cluster.OpenAPI(), kept, config.Host)}
}

// refusal returns the error with which the API server refuses an object, in a dry run. Objects
// without a namespace of their own are sent to default.
func (s server) refusal(ctx context.Context, obj *unstructured.Unstructured) error {
	kind, served := s.Kind(obj.GroupVersionKind())
	if !served {
		return fmt.Errorf("%s is not served", obj.GroupVersionKind())
	}
	obj = obj.DeepCopy()
	if obj.SetNamespace(""); kind.Namespaced {
		obj.SetNamespace("default")
	}
	_, err := s.Apply(ctx, kind, obj, kube.PatchOptions{Manager: "test", DryRun: true})
	return err
}

// types reads the types of the kinds of objects.
func (s server) types(ctx context.Context, objects ...*unstructured.Unstructured) openapi.Types {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, obj := range objects {
		kinds[obj.GroupVersionKind()] = true
	}
	return openapi.Read(ctx, s.schemas, kinds)
}

// define applies CustomResourceDefinitions, and waits until each kind has a schema.
func (s server) define(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	crds := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	kind, _ := s.Kind(crds)
	defined := map[schema.GroupVersionKind]bool{}
	for _, obj := range objects {
		if obj.GroupVersionKind() == crds {
			_, err := s.Apply(t.Context(), kind, obj, kube.PatchOptions{Manager: "test", Force: true})
			require.NoError(t, err, obj.GetName())
			for _, one := range kube.DefinedKinds(obj) {
				defined[one] = true
			}
		}
	}
	for one := range defined {
		require.Eventually(t, func() bool {
			found, err := s.Schema(t.Context(), one)
			return err == nil && found != nil
		}, time.Minute, 50*time.Millisecond, one.String())
		require.NoError(t, s.Refresh(t.Context(), one.GroupVersion()))
	}
}

// read returns the objects of a file of documents.
func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "\n---") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err == nil && obj.GetKind() != "" {
			out = append(out, obj)
		}
	}
	return out
}

// Of each object in testdata/refused.yaml the check lists all mistakes, as its annotation
// says, and the API server refuses it. It accepts those in testdata/accepted.yaml, and the
// check has nothing to say.
func TestCheckIsThatOfTheAPIServer(t *testing.T) {
	s := start(t)
	s.define(t, read(t, "testdata/crds.yaml"))
	for _, obj := range read(t, "testdata/refused.yaml") {
		want := obj.GetAnnotations()["found"]
		require.ErrorContains(t, s.types(t.Context(), obj).Check(obj), ": "+want, obj.GetName())
		require.Error(t, s.refusal(t.Context(), obj), obj.GetName())
	}
	for _, obj := range read(t, "testdata/accepted.yaml") {
		require.NoError(t, s.types(t.Context(), obj).Check(obj), obj.GetName())
		require.NoError(t, s.refusal(t.Context(), obj), obj.GetName())
	}
}

// The check says nothing about the objects of real streams that the API server accepts.
func TestCheckAcceptsRealStreams(t *testing.T) {
	folder := corpora.Need(t)
	s := start(t)
	var files []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	}))
	checked := 0
	for _, file := range files {
		objects := read(t, file)
		s.define(t, objects)
		types := s.types(t.Context(), objects...)
		for _, obj := range objects {
			if err := types.Check(obj); err != nil {
				require.Error(t, s.refusal(t.Context(), obj), "%s: %s: %v", file, kube.Meta(obj).ID, err)
			}
			checked++
		}
	}
	t.Logf("%d objects of %d streams", checked, len(files))
}

// Without schemas nothing is said.
func TestNoSchemas(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "dat": 1}}
	kinds := map[schema.GroupVersionKind]bool{obj.GroupVersionKind(): true}
	require.NoError(t, openapi.Read(t.Context(), silent{}, kinds).Check(obj))
	require.NoError(t, openapi.Types{}.Check(obj))
}

// silent is an API server that publishes nothing.
type silent struct{}

func (silent) Paths() (map[string]client.GroupVersion, error) { return nil, context.DeadlineExceeded }

package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/testcluster"
)

// side is a tool with its own cluster.
type side struct {
	apply   func(ctx context.Context, dir string, objects []map[string]any) (map[object.ID]outcome, error)
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	dir     string // for manifests
	folders atomic.Int64
}

// outcome is a tool's report on one object.
type outcome struct {
	refused   bool
	unchanged bool   // nothing was sent; kubectl never says so
	why       string // of a refusal, if the tool names the object
}

// pair is the two sides.
type pair struct{ ours, theirs *side }

// startPair starts a cluster for each tool, or skips the test.
func startPair(t testing.TB) pair {
	t.Helper()
	binary, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	var ours, theirs *testcluster.Cluster
	ours = testcluster.Start(t, "--light")
	theirs = testcluster.Start(t, "--light")
	kubectl := filepath.Join(theirs.BinDir(t), "kubectl")
	p := pair{newSide(t, ours), newSide(t, theirs)}
	p.ours.apply = ordapply{binary, ours.Kubeconfig, t.TempDir()}.apply
	p.theirs.apply = kubectlApply{kubectl, theirs.Kubeconfig, t.TempDir()}.apply
	return p
}

func newSide(t testing.TB, cluster *testcluster.Cluster) *side {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	served, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	return &side{dynamic: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served)), dir: t.TempDir()}
}

// both calls f for each side, at the same time.
func (p pair) both(f func(*side) error) error {
	var theirs error
	var group sync.WaitGroup
	group.Go(func() { theirs = f(p.theirs) })
	return errors.Join(f(p.ours), func() error { group.Wait(); return theirs }())
}

// applyAll applies objects, whose kinds and names differ. A whole run that was refused
// because of some objects is repeated without them, as kubectl does in one run.
func (s *side) applyAll(ctx context.Context, objects []map[string]any) (map[object.ID]outcome, error) {
	outcomes := map[object.ID]outcome{}
	for len(objects) > 0 {
		dir, err := s.write(objects)
		if err != nil {
			return nil, err
		}
		found, err := s.apply(ctx, dir, objects)
		if err != nil {
			return nil, err
		}
		var open []map[string]any
		for _, o := range objects {
			if of, known := found[idOf(o)]; known {
				outcomes[idOf(o)] = of
			} else {
				open = append(open, o)
			}
		}
		if len(open) == len(objects) { // it says of none why
			if len(open) == 1 {
				outcomes[idOf(open[0])] = outcome{refused: true, why: found[object.ID{}].why}
				return outcomes, nil
			}
			half, err := s.applyAll(ctx, open[:len(open)/2])
			if err != nil {
				return nil, err
			}
			for id, of := range half {
				outcomes[id] = of
			}
			open = open[len(open)/2:]
		}
		objects = open
	}
	return outcomes, nil
}

// write writes each object to a file of a new folder.
func (s *side) write(objects []map[string]any) (string, error) {
	dir := filepath.Join(s.dir, fmt.Sprint(s.folders.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for i, o := range objects {
		text, err := yaml.Marshal(o)
		if err == nil {
			err = os.WriteFile(fileOf(dir, i), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

// fileOf returns the file of an object in the folder of a batch.
func fileOf(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%03d.yaml", i)) }

// resource returns the client of an object's kind.
func (s *side) resource(o map[string]any) (dynamic.ResourceInterface, error) {
	u := unstructured.Unstructured{Object: o}
	gvk := u.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.dynamic.Resource(mapping.Resource), nil
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	return s.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// namespaced reports whether the kind of an object has namespaces.
func (s *side) namespaced(o map[string]any) (namespaced, known bool) {
	gvk := (&unstructured.Unstructured{Object: o}).GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() != meta.RESTScopeNameRoot, err == nil
}

// read returns the live objects, without missing ones.
func (s *side) read(ctx context.Context, objects []map[string]any) map[object.ID]*unstructured.Unstructured {
	found := make([]*unstructured.Unstructured, len(objects))
	activity.Each(len(objects), 8, func(i int) {
		resource, err := s.resource(objects[i])
		if err != nil {
			return
		}
		name := (&unstructured.Unstructured{Object: objects[i]}).GetName()
		if live, err := resource.Get(ctx, name, metav1.GetOptions{}); err == nil {
			found[i] = live
		}
	})
	live := map[object.ID]*unstructured.Unstructured{}
	for i, o := range objects {
		if found[i] != nil {
			live[idOf(o)] = found[i]
		}
	}
	return live
}

// patch sends a write of another field manager. Both sides refuse the same writes.
func (s *side) patch(ctx context.Context, o map[string]any, w *write) {
	resource, err := s.resource(o)
	if err != nil {
		return
	}
	options := metav1.PatchOptions{FieldManager: "controller"}
	if w.kind == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	_, _ = resource.Patch(ctx, idOf(o).Name, w.kind, w.body, options)
}

// create creates prerequisites of a test's objects. Existing ones stay.
func (s *side) create(ctx context.Context, objects ...map[string]any) error {
	var errs []error
	for _, o := range objects {
		resource, err := s.resource(o)
		if err == nil {
			_, err = resource.Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
		}
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// awaitKinds waits until the kinds of objects are served, or a minute is over.
func (s *side) awaitKinds(ctx context.Context, objects ...map[string]any) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, o := range objects {
		for ctx.Err() == nil {
			if _, err := s.resource(o); err == nil {
				break
			}
			s.mapper.Reset()
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func idOf(o map[string]any) object.ID { return kube.Meta(&unstructured.Unstructured{Object: o}).ID }

// run runs a command. A failure of the command is no error.
func run(ctx context.Context, home string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	var out, errors_ bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors_
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil {
		err = nil
	}
	return out.String(), errors_.String(), err
}

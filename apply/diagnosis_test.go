package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/test/memcluster"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Each testdata/diagnosis/*.txtar is a cluster in which one resource does not
// become ready: `live` is that resource on the API server, `manifest` its
// manifest if that differs in more than the status, `refusal` the error of
// its PATCH, `cluster` the other objects, `log POD/CONTAINER` logs, `stream`
// the other resources that are applied, `forbidden` the denied permissions.
// `want` is the diagnosis. It is made at about 2000-01-01T00:01:00Z.
func TestDiagnosis(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnosis/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				got := strings.Join(diagnose(t, archive), "\n") + "\n"
				if os.Getenv("ORDAPPLY_GOLDEN") != "" {
					setSection(archive, "want", got)
					require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				}
				require.Equal(t, section(archive, "want"), got)
			})
		})
	}
}

// diagnose applies the resource of a case and the rest of its stream, and
// returns the diagnosis after the wave timeout of one minute.
func diagnose(t *testing.T, archive *txtar.Archive) []string {
	t.Helper()
	cluster := &observed{archive: archive, objects: documents(t, section(archive, "cluster"))}
	live := documents(t, section(archive, "live"))[0]
	cluster.live = live
	manifest := live.DeepCopy()
	delete(manifest.Object, "status")
	if text := section(archive, "manifest"); text != "" {
		manifest = documents(t, text)[0]
	}
	manifests := []map[string]any{manifest.Object}
	for _, obj := range documents(t, section(archive, "stream")) {
		manifests = append(manifests, obj.Object)
	}
	plan, stream := planOf(t, manifests...)
	_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
	var failure *apply.Error
	require.ErrorAs(t, err, &failure)
	require.NotNil(t, failure.Diagnosis, failure)
	require.LessOrEqual(t, cluster.asked, 9, "requests")
	return failure.Diagnosis.Lines()
}

// observed is a cluster with the objects of a case.
type observed struct {
	memcluster.Scripted
	archive *txtar.Archive
	live    *unstructured.Unstructured
	objects []*unstructured.Unstructured
	asked   int // requests of the diagnosis
}

func (c *observed) Apply(_ context.Context, _ kube.Kind, obj *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	if apply.Meta(obj).ID == apply.Meta(c.live).ID {
		if refusal := strings.TrimSpace(section(c.archive, "refusal")); refusal != "" {
			return nil, apierrors.NewInternalError(errors.New(refusal))
		}
		return c.live.DeepCopy(), nil
	}
	return memcluster.LiveObject(obj, true), nil
}

func (c *observed) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.Kind{Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: !strings.HasSuffix(gvk.Kind, "Configuration"), HasStatus: true}, true
}

func (c *observed) ask() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.asked++
}

func (c *observed) refuses(verb, resource string) error {
	if slices.Contains(strings.Split(section(c.archive, "forbidden"), "\n"), verb+" "+resource) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
	}
	return nil
}

func (c *observed) List(_ context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	c.ask()
	if err := c.refuses("list", kind.Resource.Resource); err != nil {
		return nil, err
	}
	wanted, err := labels.Parse(query.Labels)
	if err != nil {
		return nil, err
	}
	chosen, err := fields.ParseSelector(query.Fields)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, obj := range c.objects {
		uid, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "uid")
		if is(obj, kind) && obj.GetNamespace() == namespace && wanted.Matches(labels.Set(obj.GetLabels())) && chosen.Matches(fields.Set{"involvedObject.uid": uid}) {
			found = append(found, obj.DeepCopy())
		}
	}
	return found, nil
}

func is(obj *unstructured.Unstructured, kind kube.Kind) bool {
	return strings.ToLower(obj.GetKind())+"s" == kind.Resource.Resource
}

func (c *observed) Get(_ context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	if kind.Resource.Resource != "namespaces" {
		c.ask()
	}
	if err := c.refuses("get", kind.Resource.Resource); err != nil {
		return nil, err
	}
	for _, obj := range c.objects {
		if is(obj, kind) && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj.DeepCopy(), nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind.Resource.Resource}, name)
}

func (c *observed) HasEndpoints(context.Context, object.ID) (bool, error) { return false, nil }

func (c *observed) Logs(_ context.Context, pod object.ID, container string, options kube.LogOptions) ([]string, error) {
	c.ask()
	if err := c.refuses("get", "pods/log"); err != nil {
		return nil, err
	}
	name := "log " + pod.Name + "/" + container
	if options.Previous {
		name += " previous"
	}
	lines := strings.Split(strings.TrimSuffix(section(c.archive, name), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "ESC", "\x1b")
	}
	return lines[max(0, len(lines)-options.Lines):], nil
}

func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		data, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(data))
		objects = append(objects, obj)
	}
	return objects
}

func section(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setSection(archive *txtar.Archive, name, data string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = []byte(data)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(data)})
}

// mute is a cluster that answers no LIST once something was applied.
type mute struct{ memcluster.Scripted }

func (c *mute) List(ctx context.Context, _ kube.Kind, _ string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	if len(c.Happened()) == 0 {
		return nil, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// However many resources are not ready, and however slow the API server is,
// at most eight are diagnosed, four at a time, ten seconds each, and the
// outcome of the run is the same.
func TestDiagnosisIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &mute{memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}}
		plan, stream := neverReady(t, &cluster.Scripted, 20)
		start := time.Now()
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.Equal(t, 20, summary.Count(apply.TimedOut))
		require.Equal(t, time.Minute, summary.Took, "the run's own time")
		require.Equal(t, 80*time.Second, time.Since(start))
		told := 0
		for _, r := range summary.Results {
			var failure *apply.Error
			require.ErrorAs(t, r.Err, &failure)
			if failure.Diagnosis != nil {
				told++
				require.Contains(t, failure.Diagnosis.Lines(), "the cause could not be determined, because the API server does not answer: no answer in time (context deadline exceeded)")
			}
		}
		require.Equal(t, 8, told)
	})
}

// An interrupted run makes no diagnosis.
func TestDiagnosisIsNotForTheInterrupted(t *testing.T) {
	for _, when := range []time.Duration{30 * time.Second, 65 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &mute{memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}}
			plan, stream := neverReady(t, &cluster.Scripted, 20)
			ctx, cancel := context.WithTimeout(t.Context(), when)
			defer cancel()
			start := time.Now()
			_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(ctx, plan, stream.Objects)
			require.Error(t, err)
			require.Equal(t, when, time.Since(start))
		})
	}
}

func neverReady(t *testing.T, cluster *memcluster.Scripted, n int) (*ordering.Plan, *apply.Stream) {
	t.Helper()
	var manifests []map[string]any
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		manifests = append(manifests, plainPod(name))
		cluster.Scripts[pod(name)] = memcluster.Script{Never: true}
	}
	return planOf(t, manifests...)
}

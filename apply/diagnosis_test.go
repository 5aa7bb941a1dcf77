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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
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
	live := documents(t, section(archive, "live"))[0]
	manifest := live.DeepCopy()
	delete(manifest.Object, "status")
	if text := section(archive, "manifest"); text != "" {
		manifest = documents(t, text)[0]
	}
	manifests := []map[string]any{manifest.Object}
	for _, obj := range documents(t, section(archive, "stream")) {
		manifests = append(manifests, obj.Object)
	}
	cluster, requests := clusterOf(t, archive, live)
	plan, stream := planOf(t, manifests...)
	_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
	var failure *event.Error
	require.ErrorAs(t, err, &failure)
	require.NotNil(t, failure.Diagnosis, failure)
	require.LessOrEqual(t, *requests, 9)
	return failure.Diagnosis.Lines()
}

// clusterOf returns the cluster of a case, and the number of requests that read it.
func clusterOf(t *testing.T, archive *txtar.Archive, live *unstructured.Unstructured) (*memcluster.Scripted, *int) {
	t.Helper()
	requests, forbidden := 0, strings.Split(section(archive, "forbidden"), "\n")
	cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}, Backed: func() bool { return false }}
	for _, obj := range documents(t, section(archive, "cluster")) {
		cluster.Put(obj)
	}
	script := memcluster.Script{Answer: live, Never: true}
	if refusal := strings.TrimSpace(section(archive, "refusal")); refusal != "" {
		script.Errs = slices.Repeat([]error{apierrors.NewInternalError(errors.New(refusal))}, 100)
	}
	cluster.Scripts[kube.Meta(live).ID] = script
	cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
		resource := kind.Resource.Resource
		if verb != "watch" && resource != "namespaces" {
			cluster.Mu.Lock()
			defer cluster.Mu.Unlock()
			requests++
		}
		if slices.Contains(forbidden, verb+" "+resource) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		}
		return nil
	}
	cluster.ContainerLog = func(pod object.ID, container string, previous bool) []string {
		name := "log " + pod.Name + "/" + container
		if previous {
			name += " previous"
		}
		lines := strings.Split(strings.TrimSuffix(section(archive, name), "\n"), "\n")
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "ESC", "\x1b")
		}
		return lines
	}
	return cluster, &requests
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

// hangingLists returns a cluster that answers no LIST once something was applied.
func hangingLists() *memcluster.Scripted {
	cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}
	cluster.Hangs = func(verb string) bool { return verb == "list" && len(cluster.Happened()) > 0 }
	return cluster
}

// However many resources are not ready, and however slow the API server is,
// at most eight are diagnosed, four at a time, ten seconds each, and the
// outcome of the run is the same.
func TestDiagnosisIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := hangingLists()
		plan, stream := neverReady(t, cluster, 20)
		start := time.Now()
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.Equal(t, 20, summary.Count(event.TimedOut))
		require.Equal(t, time.Minute, summary.Took, "the run's own time")
		require.Equal(t, 80*time.Second, time.Since(start))
		diagnosed := 0
		for _, r := range summary.Results {
			var failure *event.Error
			require.ErrorAs(t, r.Err, &failure)
			if failure.Diagnosis != nil {
				diagnosed++
				require.Contains(t, failure.Diagnosis.Lines(), "the cause could not be determined, because the API server does not answer: no answer in time (context deadline exceeded)")
			}
		}
		require.Equal(t, 8, diagnosed)
	})
}

// An interrupted run makes no diagnosis.
func TestAnInterruptedRunMakesNoDiagnosis(t *testing.T) {
	for _, when := range []time.Duration{30 * time.Second, 65 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			cluster := hangingLists()
			plan, stream := neverReady(t, cluster, 20)
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

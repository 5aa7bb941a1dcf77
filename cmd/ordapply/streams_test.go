package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/internal/planning"
	"github.com/ordapply/ordapply/internal/test/corpora"
	"github.com/ordapply/ordapply/internal/test/testcluster"
	"github.com/ordapply/ordapply/manifest"
)

// realStream is a real stream that must apply on the first try.
type realStream struct {
	name string
	// without selects objects to leave out: webhook configurations whose
	// backend is a Pod would reject every write here, because kwok runs no
	// Pods.
	without func(*unstructured.Unstructured) bool
	with    string // manifests to add
	first   string // manifests of what the stream expects, applied before
	apart   bool   // uses its own cluster
	// faults are the expected errors of the unmodified stream, all in one run.
	faults []string
}

func realStreams(t *testing.T) []realStream {
	return []realStream{
		{name: "kube-prometheus", apart: true}, // it has an APIService whose backend does not run here
		{name: "cert-manager", without: refusesWrites},
		{name: "cloudnative-pg", without: refusesWrites},
		{
			name: "metallb", without: refusesWrites,
			first: prometheusCRDs(t),
			faults: []string{
				"apply 3 resources: the cluster does not serve kind ServiceMonitor of monitoring.coreos.com/v1",
				"\n  ServiceMonitor.monitoring.coreos.com metallb-system/controller-monitor\n",
				"\n  ServiceMonitor.monitoring.coreos.com metallb-system/frr-k8s-metrics-monitor\n",
				"\n  ServiceMonitor.monitoring.coreos.com metallb-system/speaker-monitor\n",
			},
		},
		{
			name: "rook-ceph", without: refusesWrites,
			first: prometheusCRDs(t) + snapshotCRDs + cephVolumes(),
			faults: []string{
				"the cluster does not serve kind Prometheus of monitoring.coreos.com/v1",
				"the cluster does not serve kind ServiceMonitor of monitoring.coreos.com/v1",
				"the cluster does not serve kind VolumeSnapshot of snapshot.storage.k8s.io/v1",
				"the cluster does not serve kind VolumeSnapshotClass of snapshot.storage.k8s.io/v1",
			},
		},
		{
			name: "external-secrets",
			without: func(obj *unstructured.Unstructured) bool {
				return refusesWrites(obj) || obj.GetKind() == "ClusterSecretStore" && obj.GetName() == "example"
			},
			with: "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: eso-fanout-source}\n",
			faults: []string{
				"apply ClusterSecretStore.external-secrets.io example: CustomResourceDefinition clustersecretstores.external-secrets.io rejects it: spec.provider has 5 fields, more than the maximum of 1",
			},
		},
	}
}

// Each stream applies on the first try to an empty cluster, where kubectl
// fails; unmodified, each of its errors is reported in one run. The three use
// three clusters, so that each try is the first.
func TestRealStreams(t *testing.T) {
	t.Parallel()
	folder := corpora.Need(t)
	kubectls, asTheyStand, ours := testcluster.Start(t, "--light"), testcluster.Start(t), testcluster.Start(t)
	for _, stream := range realStreams(t) {
		t.Run(stream.name, func(t *testing.T) {
			file := stream.write(t, folder)
			t.Run("kubectl fails at the first try", func(t *testing.T) {
				out, err := kubectls.TryKubectl("apply", "--server-side", "-f", file)
				require.Error(t, err, "kubectl did what it was not thought to do")
				t.Logf("kubectl: %s", lastLines(out, 3))
			})
			if len(stream.faults) > 0 {
				t.Run("as it stands every fault is named", func(t *testing.T) {
					stream.applyAsItStands(t, asTheyStand, folder)
				})
			}
			cluster := ours
			if stream.apart {
				cluster = testcluster.Start(t)
			}
			stream.prepare(t, cluster)
			code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", file)
			require.Equal(t, exit.Done, code, output)
			requireEveryObject(t, cluster, file)
		})
	}
}

func (s realStream) applyAsItStands(t *testing.T, cluster *testcluster.Cluster, folder string) {
	t.Helper()
	code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", s.asItStands(t, folder), "--kind-timeout", "5s")
	require.Equal(t, exit.Failed, code, output)
	for _, fault := range s.faults {
		require.Contains(t, output, fault)
	}
}

// refusesWrites selects webhook configurations: their backends are Pods.
func refusesWrites(obj *unstructured.Unstructured) bool {
	return strings.HasSuffix(obj.GetKind(), "WebhookConfiguration")
}

// write writes the stream without objects that cannot work here, and returns
// its file.
func (s realStream) write(t *testing.T, folder string) string {
	return s.filter(t, folder, "stream.yaml", func(obj *unstructured.Unstructured) bool {
		return s.without == nil || !s.without(obj)
	}, s.with)
}

// asItStands writes the stream without webhook configurations whose backends
// cannot run here.
func (s realStream) asItStands(t *testing.T, folder string) string {
	return s.filter(t, folder, "as-it-stands.yaml", func(obj *unstructured.Unstructured) bool {
		return !refusesWrites(obj)
	}, "")
}

func (s realStream) filter(t *testing.T, folder, name string, keep func(*unstructured.Unstructured) bool, with string) string {
	t.Helper()
	var out bytes.Buffer
	for _, m := range readManifests(t, filepath.Join(folder, s.name+".yaml")) {
		if keep(m.Unstructured) {
			exempt(m.Unstructured)
			text, err := yaml.Marshal(m.Object)
			require.NoError(t, err)
			out.WriteString("---\n")
			out.Write(text)
		}
	}
	out.WriteString(with)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
	return path
}

// exempt removes the wait for APIServices: their backends are Pods, and none
// runs here.
func exempt(obj *unstructured.Unstructured) {
	if obj.GetKind() == "APIService" {
		obj.SetAnnotations(map[string]string{planning.WaitAnnotation: "none"})
	}
}

func readManifests(t *testing.T, path string) []manifest.Manifest {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	manifests, err := manifest.Read(filepath.Base(path), bytes.NewReader(data))
	require.NoError(t, err)
	return manifests
}

// prepare applies what the stream expects.
func (s realStream) prepare(t *testing.T, cluster *testcluster.Cluster) {
	if s.first == "" {
		return
	}
	path := filepath.Join(t.TempDir(), "first.yaml")
	require.NoError(t, os.WriteFile(path, []byte(s.first), 0o644))
	code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", path)
	require.Equal(t, exit.Done, code, output)
}

// prometheusCRDs returns the CRDs of kube-prometheus that other streams expect.
func prometheusCRDs(t *testing.T) string {
	var out strings.Builder
	for _, m := range readManifests(t, filepath.Join(corpora.Need(t), "kube-prometheus.yaml")) {
		wanted := []string{"servicemonitors.monitoring.coreos.com", "prometheuses.monitoring.coreos.com"}
		if m.GetKind() == "CustomResourceDefinition" && slices.Contains(wanted, m.GetName()) {
			text, err := yaml.Marshal(m.Object)
			require.NoError(t, err)
			out.WriteString("---\n" + string(text))
		}
	}
	return out.String()
}

// snapshotCRDs define the kinds of the snapshot controller.
const snapshotCRDs = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: volumesnapshots.snapshot.storage.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: snapshot.storage.k8s.io
  scope: Namespaced
  names: {kind: VolumeSnapshot, listKind: VolumeSnapshotList, plural: volumesnapshots, singular: volumesnapshot}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: volumesnapshotclasses.snapshot.storage.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: snapshot.storage.k8s.io
  scope: Cluster
  names: {kind: VolumeSnapshotClass, listKind: VolumeSnapshotClassList, plural: volumesnapshotclasses, singular: volumesnapshotclass}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// cephVolumes returns the volumes that Ceph's driver would create for the
// stream's claims.
func cephVolumes() string {
	var out strings.Builder
	for n := range 4 {
		fmt.Fprintf(&out, `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ceph-%d}
spec:
  storageClassName: rook-ceph-block
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: rook-ceph.rbd.csi.ceph.com, volumeHandle: "%d"}
`, n, n)
	}
	return out.String()
}

// requireEveryObject checks that every object of a stream exists.
func requireEveryObject(t *testing.T, cluster *testcluster.Cluster, file string) {
	t.Helper()
	out := cluster.Kubectl(t, "get", "-f", file, "-o", "name")
	require.Len(t, strings.Fields(out), len(readManifests(t, file)))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

package unkind

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/test/standin"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Trust makes the servers behind Services trusted by all that trust the CA of the cluster,
// and returns that CA. It must be called before the first request to them.
func Trust(cluster *testcluster.Cluster, pods *standin.Pods) ([]byte, error) {
	ca := filepath.Join(cluster.Dir, "certs", "ca")
	if err := pods.SignWith(ca+".crt", ca+".key"); err != nil {
		return nil, err
	}
	return os.ReadFile(ca + ".crt")
}

// WithCA returns a stream of manifests with the CA of a cluster.
func WithCA(stream, ca []byte) []byte {
	return bytes.ReplaceAll(stream, []byte("$CA"), []byte(base64.StdEncoding.EncodeToString(ca)))
}

// PodsAreReady reports whether all Deployments and StatefulSets have their Pods, and each
// Pod is ready or has succeeded.
func PodsAreReady(cluster *testcluster.Cluster) bool {
	out, err := cluster.TryKubectl("get", "deployments,statefulsets,pods", "-A", "-o", "json")
	var found struct {
		Items []struct {
			Spec   struct{ Replicas int }
			Status struct {
				Phase         string
				ReadyReplicas int
				Conditions    []struct{ Type, Status string }
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &found) != nil || len(found.Items) == 0 {
		return false
	}
	for _, item := range found.Items {
		ready := item.Status.Phase == "Succeeded" || item.Spec.Replicas > 0 && item.Status.ReadyReplicas == item.Spec.Replicas
		for _, c := range item.Status.Conditions {
			ready = ready || item.Status.Phase == "Running" && c.Type == "Ready" && c.Status == "True"
		}
		if !ready {
			return false
		}
	}
	return true
}

// Parts splits a stream into the parts that are sent one after the other when nothing but
// Helm's order is kept: the Namespaces with the pre-install hooks, if one is a Job, which then
// has ended, and the rest.
func Parts(stream []byte) ([][]byte, error) {
	var before, rest []string
	runs := false
	for _, text := range strings.Split(string(stream), "\n---\n") {
		var manifest unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &manifest.Object); err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		isBefore := strings.Contains(manifest.GetAnnotations()["helm.sh/hook"], "pre-install")
		runs = runs || isBefore && manifest.GetKind() == "Job"
		if isBefore || manifest.GetKind() == "Namespace" {
			before = append(before, text)
		} else {
			rest = append(rest, text)
		}
	}
	if !runs {
		return [][]byte{stream}, nil
	}
	return [][]byte{[]byte(strings.Join(before, "\n---\n")), []byte(strings.Join(rest, "\n---\n"))}, nil
}

package inventory

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// refOfHelm returns the release of an object, as Helm annotates all but its hooks.
func refOfHelm(live *unstructured.Unstructured) (namespace, name string) {
	annotations := live.GetAnnotations()
	return annotations["meta.helm.sh/release-namespace"], annotations["meta.helm.sh/release-name"]
}

// readHelm reads the revision of a release that was deployed last, or the newest if none was.
// Helm keeps revisions in Secrets, or in ConfigMaps, with the same labels:
// https://github.com/helm/helm/tree/v4.3.1/pkg/storage/driver
func readHelm(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	for _, storage := range []string{"Secret", "ConfigMap"} {
		revisions, err := list(ctx, cluster, schema.GroupKind{Kind: storage}, ref.Namespace, kube.Query{Labels: "owner=helm,name=" + ref.Name, Metadata: true})
		if err != nil {
			return nil, err
		}
		if len(revisions) == 0 {
			continue
		}
		newest := slices.MaxFunc(revisions, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(isDeployed(a), isDeployed(b)), cmp.Compare(versionOf(a), versionOf(b)))
		})
		stored, err := get(ctx, cluster, object.ID{Kind: storage, Namespace: ref.Namespace, Name: newest.GetName()})
		if err != nil || stored == nil {
			return nil, err
		}
		text, _, _ := unstructured.NestedString(stored.Object, "data", "release")
		if storage == "Secret" {
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", storage, newest.GetName(), err)
			}
			text = string(decoded)
		}
		found, err := decodeRelease(cluster, ref, text)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", storage, newest.GetName(), err)
		}
		found.Forget = Remedy{
			Why: "let Helm forget it, or helm upgrade applies these objects again, and helm uninstall of Helm 3 deletes them",
			Do:  "run kubectl delete " + strings.ToLower(storage) + " -n " + stored.GetNamespace() + " -l owner=helm,name=" + newest.GetLabels()["name"],
		}
		return found, nil
	}
	return nil, nil
}

func isDeployed(revision *unstructured.Unstructured) int {
	if revision.GetLabels()["status"] == "deployed" {
		return 1
	}
	return 0
}

func versionOf(revision *unstructured.Unstructured) int {
	version, _ := strconv.Atoi(revision.GetLabels()["version"])
	return version
}

// release is a revision as Helm stores it.
type release struct {
	Manifest string `json:"manifest"`
	Hooks    []struct {
		Manifest string `json:"manifest"`
	} `json:"hooks"`
}

// decodeRelease reads a revision, which is JSON, compressed and in base64.
func decodeRelease(cluster kube.Reads, ref Ref, text string) (*Inventory, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zipped, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(zipped, limits.RevisionText+1)); err != nil {
			return nil, err
		}
	}
	if len(data) > limits.RevisionText {
		return nil, fmt.Errorf("it has more than %d bytes", limits.RevisionText)
	}
	var stored release
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	found := &Inventory{Ref: ref, Title: "Helm release " + ref.Namespace + "/" + ref.Name}
	if found.Objects, err = idsIn(cluster, stored.Manifest, ref.Namespace); err != nil {
		return nil, err
	}
	for _, hook := range stored.Hooks {
		ids, err := idsIn(cluster, hook.Manifest, ref.Namespace)
		if err != nil {
			return nil, err
		}
		found.Hooks = append(found.Hooks, ids...)
	}
	return found, nil
}

// idsIn returns the IDs of manifests, in YAML. Objects without a namespace are in this one.
func idsIn(cluster kube.Reads, text, namespace string) ([]object.ID, error) {
	var ids []object.ID
	decoder := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		var manifest struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		err := decoder.Decode(&manifest)
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		if manifest.Kind == "" || manifest.Metadata.Name == "" {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(manifest.APIVersion, manifest.Kind)
		ids = append(ids, scoped(cluster, gvk, cmp.Or(manifest.Metadata.Namespace, namespace), manifest.Metadata.Name))
	}
}

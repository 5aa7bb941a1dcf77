package state

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// A revision is stored in Secrets, for it holds Secrets: a head, ordapply.NAME.vN,
// and further chunks, ordapply.NAME.vN.1 and so on, where it is too large for
// one. All carry labels by which metadata alone tells what there is:
//
//	ordapply.dev/applyset: applyset-…-v1   the id of the set
//	ordapply.dev/revision: "3"
//	ordapply.dev/status: deployed          on the head
//	ordapply.dev/chunk: "1"                on the others
const (
	setLabel      = "ordapply.dev/applyset"
	revisionLabel = "ordapply.dev/revision"
	statusLabel   = "ordapply.dev/status"
	chunkLabel    = "ordapply.dev/chunk"

	// aboutAnnotation, on a head, tells what the revision holds, in JSON.
	aboutAnnotation = "ordapply.dev/about"

	secretType = "ordapply.dev/revision"
	dataKey    = "revision"

	// chunkSize is how much one Secret takes. The API server allows a MiB of
	// data; the rest is for labels and whatever wraps it on its way to the disk.
	chunkSize = 960_000
)

// about is what a listing tells of a revision without reading it.
type about struct {
	Digest    string `json:"digest"`
	Cluster   string `json:"cluster,omitempty"`
	Chunks    int    `json:"chunks"` // the head counts
	Resources int    `json:"resources"`
	Layers    int    `json:"layers"`
	Waves     int    `json:"waves"`
	Rollback  int    `json:"rollback,omitempty"`
	Hooks     int    `json:"hooks,omitempty"`
	Parent    int    `json:"parent,omitempty"` // see numberAnnotation; revisions of older versions have none
}

// Entry is one revision of a listing.
type Entry struct {
	Number    int       `json:"revision"`
	Created   time.Time `json:"created"`
	Status    Status    `json:"status"`
	Resources int       `json:"resources"`
	Layers    int       `json:"layers"`
	Waves     int       `json:"waves"`
	Rollback  int       `json:"rollback,omitempty"` // the number of the revision that was gone back to

	hooks           int // how many it holds
	digest, cluster string
	chunks          int
	parent          int                        // the lowest number that the parent may carry while this revision is the newest
	head            *unstructured.Unstructured // its metadata
}

// pack makes the Secrets of a revision, the head last: where it is, all the
// others are.
func pack(parent object.ID, namespace string, number int, a about, data []byte) ([]*unstructured.Unstructured, error) {
	a.Chunks = max(1, (len(data)+chunkSize-1)/chunkSize)
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	secrets := make([]*unstructured.Unstructured, a.Chunks)
	for i := range secrets {
		part := data[i*chunkSize : min(len(data), (i+1)*chunkSize)]
		labels := map[string]any{setLabel: applyset.Parent{ID: parent}.SetID(), revisionLabel: strconv.Itoa(number)}
		metadata := map[string]any{"name": secretName(parent, number, i), "namespace": namespace, "labels": labels}
		if i == 0 {
			labels[statusLabel] = string(Pending)
			metadata["annotations"] = map[string]any{aboutAnnotation: string(text)}
		} else {
			labels[chunkLabel] = strconv.Itoa(i)
		}
		secrets[(i+len(secrets)-1)%len(secrets)] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": secretType, "immutable": true,
			"data": map[string]any{dataKey: base64.StdEncoding.EncodeToString(part)},
		}}
	}
	return secrets, nil
}

// secretName names a chunk, the head for 0. Sets of one name, whose parents are
// of different kinds, do not meet; neither do two long names.
func secretName(parent object.ID, number, chunk int) string {
	prefix, name := "ordapply.", parent.Name
	if parent.Kind != "Secret" {
		prefix = "ordapply-" + strings.ToLower(parent.GroupKind()) + "."
	}
	name = fmt.Sprintf("%s%s.v%d", prefix, shortened(name), number)
	if chunk > 0 {
		name += "." + strconv.Itoa(chunk)
	}
	return name
}

// shortened leaves of a long name enough for another to begin and end otherwise.
func shortened(name string) string {
	if len(name) <= 180 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:150] + "-" + hex.EncodeToString(sum[:8])
}

// unpack is the data of one chunk.
func unpack(secret *unstructured.Unstructured) ([]byte, error) {
	text, found, err := unstructured.NestedString(secret.Object, "data", dataKey)
	if err != nil || !found {
		return nil, fmt.Errorf("Secret %s/%s has no data under %q", secret.GetNamespace(), secret.GetName(), dataKey)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: data.%s: %w", secret.GetNamespace(), secret.GetName(), dataKey, err)
	}
	return data, nil
}

// readEntry reads the metadata of a head.
func readEntry(head *unstructured.Unstructured) (Entry, error) {
	var a about
	if err := json.Unmarshal([]byte(head.GetAnnotations()[aboutAnnotation]), &a); err != nil {
		return Entry{}, fmt.Errorf("Secret %s/%s: annotation %s: %w: somebody changed it; delete the Secret to forget the revision", head.GetNamespace(), head.GetName(), aboutAnnotation, err)
	}
	return Entry{
		Number: numberOf(head), Created: head.GetCreationTimestamp().UTC(), Status: Status(head.GetLabels()[statusLabel]),
		Resources: a.Resources, Layers: a.Layers, Waves: a.Waves, Rollback: a.Rollback, hooks: a.Hooks,
		digest: a.Digest, cluster: a.Cluster, chunks: a.Chunks, parent: a.Parent, head: head,
	}, nil
}

// numberOf is the number of the revision that a Secret belongs to; 0 when it
// has none.
func numberOf(secret *unstructured.Unstructured) int {
	n, err := strconv.Atoi(secret.GetLabels()[revisionLabel])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// marked is a PATCH that changes the status of a head, and nothing else. The uid
// keeps it from making a head that has been deleted.
func marked(head *unstructured.Unstructured, status Status) *unstructured.Unstructured {
	patch := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	patch.SetName(head.GetName())
	patch.SetNamespace(head.GetNamespace())
	patch.SetUID(types.UID(head.GetUID()))
	patch.SetLabels(map[string]string{statusLabel: string(status)})
	return patch
}

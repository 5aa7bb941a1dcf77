package history

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/object"
)

// A revision is stored in Secrets, because it contains Secrets: a head,
// ordapply.NAME.vN, and further chunks, ordapply.NAME.vN.1 and so on, where
// it is too large for one. Their labels allow listing the history from
// metadata alone:
//
//	ordapply.dev/applyset: applyset-…-v1   the id of the set
//	ordapply.dev/revision: "3"
//	ordapply.dev/status: deployed          on the head
//	ordapply.dev/chunk: "1"                on the others
const (
	setLabel      = applyset.HistoryLabel
	RevisionLabel = "ordapply.dev/revision"
	StatusLabel   = "ordapply.dev/status"
	chunkLabel    = "ordapply.dev/chunk"

	// summaryAnnotation is on a head and summarizes the revision, in JSON.
	summaryAnnotation = "ordapply.dev/about"

	secretType = "ordapply.dev/revision"
	dataKey    = "revision"

	// chunkSize is the size of one Secret's data, in bytes. The API server
	// allows 1 MiB; the rest is for labels and for additions in storage, such
	// as by encryption at rest.
	chunkSize = 960_000
)

// revisionSummary describes a revision in a listing, which does not read it.
type revisionSummary struct {
	Digest    string `json:"digest"`
	Cluster   string `json:"cluster,omitempty"`
	Chunks    int    `json:"chunks"` // including the head
	Resources int    `json:"resources"`
	Layers    int    `json:"layers"`
	Waves     int    `json:"waves"`
	// Orders are the SortOrders of its plan, at most maxOrders of them.
	Orders   []string `json:"orders,omitempty"`
	Rollback int      `json:"rollback,omitempty"`
	Hooks    int      `json:"hooks,omitempty"`
	Parent   int      `json:"parent,omitempty"` // see set.NumberAnnotation; 0 from older versions
	// Values are the namespaces that keep values of this revision.
	Values []string `json:"values,omitempty"`
	Origin
}

// Entry is one revision of a listing.
type Entry struct {
	Number    int       `json:"revision"`           // from 1
	Created   time.Time `json:"created"`            // by the API server's clock
	Status    Status    `json:"status"`             // the outcome of its run
	Resources int       `json:"resources"`          // how many it has, without hooks
	Layers    int       `json:"layers"`             // how many have resources
	Waves     int       `json:"waves"`              // of its plan
	Rollback  int       `json:"rollback,omitempty"` // the revision that this one rolled back to
	// Operation is its run's operation; "" in revisions of older versions, and until Described.
	Operation hook.Operation `json:"operation,omitempty"`
	// Description is a sentence on the end of its run; "" in revisions of older versions, and
	// until Described.
	Description    string `json:"description,omitempty"`
	Origin                // its message also says that it is a rollback
	track.RunTimes        // of the run that gave it its status

	stored
}

// Orders returns the names of the SortOrders that its plan followed, the first few of many;
// none in revisions of older versions.
func (e Entry) Orders() []string { return e.orders }

// Deployed returns when the run that deployed the revision ended; zero if none did.
func (e Entry) Deployed() time.Time {
	if e.Status != Deployed {
		return time.Time{}
	}
	return e.Created.Add(time.Duration(e.Seconds * float64(time.Second)))
}

// stored is a revision's stored form.
type stored struct {
	hooks           int // number of hooks
	orders          []string
	digest, cluster string
	chunks          int
	parent          int                        // the lowest number that the parent may have while this revision is the newest
	head            *unstructured.Unstructured // its metadata
	record          *storedRecord              // on the head
	values          []string                   // the namespaces that keep values of it
}

// pack returns the Secrets of a revision, the head last: when the head
// exists, so do all the others.
func pack(parent object.ID, namespace string, number int, a revisionSummary, record Record, data []byte) ([]*unstructured.Unstructured, error) {
	a.Chunks = max(1, (len(data)+chunkSize-1)/chunkSize)
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	secrets := make([]*unstructured.Unstructured, a.Chunks)
	for i := range secrets {
		part := data[i*chunkSize : min(len(data), (i+1)*chunkSize)]
		labels := map[string]any{setLabel: applyset.Parent{ID: parent}.SetID(), RevisionLabel: strconv.Itoa(number)}
		metadata := map[string]any{"name": secretName(parent, number, i), "namespace": namespace, "labels": labels}
		if i == 0 {
			labels[StatusLabel] = string(Pending)
			annotations := map[string]any{summaryAnnotation: string(text)}
			if text := record.text(); text != "" {
				annotations[recordAnnotation] = text
			}
			metadata["annotations"] = annotations
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

// secretName returns the name of a chunk, the head for 0. Names of sets with
// the same name and parents of different kinds differ, and so do shortened
// names.
func secretName(parent object.ID, number, chunk int) string {
	prefix, name := "ordapply.", parent.Name
	if parent.Kind != "Secret" {
		prefix = "ordapply-" + strings.ToLower(parent.GroupKind()) + "."
	}
	name = fmt.Sprintf("%s%s.v%d", prefix, applyset.ShortName(name), number)
	if chunk > 0 {
		name += "." + strconv.Itoa(chunk)
	}
	return name
}

// secretName returns the name of one of the revision's Secrets, the head for 0.
func (e Entry) secretName(chunk int) string {
	if chunk == 0 {
		return e.head.GetName()
	}
	return e.head.GetName() + "." + strconv.Itoa(chunk)
}

// unpack returns the data of one chunk.
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

// readEntry decodes the metadata of a head.
func readEntry(head *unstructured.Unstructured) (Entry, error) {
	var a revisionSummary
	if err := json.Unmarshal([]byte(head.GetAnnotations()[summaryAnnotation]), &a); err != nil {
		return Entry{}, fmt.Errorf("Secret %s/%s: annotation %s: %w: it was edited; delete the Secret to discard the revision", head.GetNamespace(), head.GetName(), summaryAnnotation, err)
	}
	return Entry{
		Number: numberOf(head), Created: head.GetCreationTimestamp().UTC(), Status: Status(head.GetLabels()[StatusLabel]),
		Resources: a.Resources, Layers: a.Layers, Waves: a.Waves, Rollback: a.Rollback, Origin: a.Origin.OfRollback(a.Rollback), RunTimes: readTimes(head),
		stored: stored{hooks: a.Hooks, orders: a.Orders, digest: a.Digest, cluster: a.Cluster, chunks: a.Chunks, parent: a.Parent, values: a.Values, head: head, record: &storedRecord{text: head.GetAnnotations()[recordAnnotation]}},
	}, nil
}

// numberOf returns the number of the revision that a Secret belongs to; 0
// when it has none.
func numberOf(secret *unstructured.Unstructured) int {
	n, err := strconv.Atoi(secret.GetLabels()[RevisionLabel])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// statusPatch returns a PATCH that changes the status of a head and nothing else: times and
// a record that it does not repeat are removed. Its uid keeps it from creating a head that
// was deleted.
func (e *Entry) statusPatch(status Status) (*unstructured.Unstructured, error) {
	head := e.head
	patch := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	patch.SetName(head.GetName())
	patch.SetNamespace(head.GetNamespace())
	patch.SetUID(types.UID(head.GetUID()))
	patch.SetLabels(map[string]string{StatusLabel: string(status)})
	annotations := map[string]string{}
	times, err := timesText(e.RunTimes)
	if times != "" {
		annotations[timesAnnotation] = times
	}
	if record := head.GetAnnotations()[recordAnnotation]; record != "" {
		annotations[recordAnnotation] = record
	}
	if len(annotations) > 0 {
		patch.SetAnnotations(annotations)
	}
	return patch, err
}

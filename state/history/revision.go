package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Status is the outcome of the run that applied a revision, as in Helm.
type Status string

// The statuses of a revision.
const (
	Pending    Status = "pending"    // its run is in progress, or was killed
	Deployed   Status = "deployed"   // all of it became ready
	Failed     Status = "failed"     // its run ended in any other way
	Superseded Status = "superseded" // it was deployed, and so was a later one
)

// Revision is a stream that was applied, and the order in which it was
// applied.
type Revision struct {
	Number  int       // from 1, assigned by a History
	Created time.Time // by the API server's clock
	Status  Status    // as it was when the revision was read
	// Cluster is the ID of the cluster that it was applied to; "" when it
	// could not be read.
	Cluster string
	// Rollback is the number of the revision that a rollback went back to; 0
	// for any other run.
	Rollback int
	// Origin is its user, commit and reason. As read, its message also says that it is
	// a rollback.
	Origin
	// Record is its run's, planned or actual.
	Record Record
	Plan   *ordering.Plan // as it was executed
	// Resources are the manifests as given, with resolved namespaces and all
	// stamps, sorted by ID.
	Resources []ordering.Resource
	// Hooks are the manifests of Helm hooks, in the order of the stream,
	// which decides between hooks of equal weight, kind and name. They are
	// not part of the plan.
	Hooks []ordering.Resource
	// Options are the options of the plan, which also decide the order of
	// deletion.
	Options ordering.Options
	// OrderFile is the text of the --order file; "" without one.
	OrderFile string

	values map[string]string // digests of the values that it does not contain, by namespace
	stored int               // the number under which these are kept
}

// Objects returns the manifests by ID, without hooks, as Applier.Run takes them.
func (r *Revision) Objects() map[object.ID]*unstructured.Unstructured {
	out := make(map[object.ID]*unstructured.Unstructured, len(r.Resources))
	for _, resource := range r.Resources {
		out[resource.ID] = &unstructured.Unstructured{Object: resource.Object}
	}
	return out
}

// IDs returns the IDs of a revision's resources; none for nil.
func (r *Revision) IDs() map[object.ID]bool {
	held := map[object.ID]bool{}
	if r != nil {
		for _, resource := range r.Resources {
			held[resource.ID] = true
		}
	}
	return held
}

// Formats of an encoded revision. All are read and written.
const (
	formatV2 = "v2" // without hooks
	formatV3 = "v3" // with hooks, which v2 would not run
	formatV4 = "v4" // without some values of Secrets, which v3 would empty, or with gates unknown to v3
	formatV5 = "v5" // with hooks of Argo CD, which v4 would take for mistakes
)

// document is a stored revision.
type document struct {
	Format    string           `json:"format"`
	Cluster   string           `json:"cluster,omitempty"`
	Resources []storedResource `json:"resources"`
	Options   storedOptions    `json:"options"`
	OrderFile string           `json:"orderFile,omitempty"`
	Plan      *storedPlan      `json:"plan"`
	Hooks     []storedResource `json:"hooks,omitempty"`
	// Values are the digests of values of Secrets that the resources do not have, by namespace.
	Values map[string]string `json:"values,omitempty"`
}

// encode returns the revision as it is stored, without the values of Secrets that it may not
// contain, and the namespaces that keep these.
func (h History) encode(r Revision) ([]byte, []string, error) {
	bare, values := h.separate(r)
	bare.values = h.digests(values)
	data, err := bare.encode()
	if h.Keep == KeepNone {
		values = nil
	}
	return data, slices.Sorted(maps.Keys(values)), err
}

// encode returns the revision as it is stored, compressed. It is
// deterministic.
func (r *Revision) encode() ([]byte, error) {
	var out bytes.Buffer
	var count jsonCounter
	zipped := gzip.NewWriter(&out)
	text := bufio.NewWriter(io.MultiWriter(zipped, &count))
	if err := errors.Join(r.write(text), text.Flush(), zipped.Close()); err != nil {
		return nil, err
	}
	err := checkCount(max(len(r.Resources), len(r.Hooks)))
	if err == nil {
		err = count.checkRevision()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: split the stream into several apply sets", err)
	}
	return out.Bytes(), nil
}

// write writes the JSON document of the revision, as document describes it.
func (r *Revision) write(out io.Writer) error {
	return writeObject(out, func(o *jsonObject) {
		o.field("format", r.format())
		o.fieldIf(r.Cluster != "", "cluster", r.Cluster)
		r.writeResources(o)
		o.field("options", storeOptions(r.Options))
		o.fieldIf(r.OrderFile != "", "orderFile", r.OrderFile)
		o.object("plan", func(o *jsonObject) { writePlan(o, r.Plan) })
		r.writeHooks(o)
		o.fieldIf(len(r.values) > 0, "values", r.values)
	})
}

// format returns the first format that has all of the revision.
func (r *Revision) format() string {
	switch hooks := len(r.Hooks) > 0; {
	case hooks && r.Plan.OrderSource == ordering.OrderSourceArgoCD:
		return formatV5
	case len(r.values) > 0, hasStartedGates(r.Plan):
		return formatV4
	case hooks:
		return formatV3
	}
	return formatV2
}

// decode decodes a revision of any format; Number, Created and Status are not
// part of the document.
func decode(data []byte) (*Revision, error) {
	text, err := unzip(data, limits.RevisionText)
	if err != nil {
		return nil, err
	}
	if err := checkRevision(text); err != nil {
		return nil, err
	}
	return decodeText(text)
}

// decodeText decodes the JSON document of a revision. It rejects other formats, and
// fields that it does not know.
func decodeText(text []byte) (*Revision, error) {
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Format == formatV2, head.Format == formatV3, head.Format == formatV4, head.Format == formatV5:
	case strings.HasPrefix(head.Format, "v"):
		return nil, &laterFormatError{head.Format}
	default:
		return nil, fmt.Errorf("unknown revision format %q", head.Format)
	}
	if err := checkLengths(text); err != nil {
		return nil, err
	}
	var d document
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&d); err != nil {
		return nil, err
	}
	return d.revision()
}

// revision returns the revision of a document, if that is consistent.
func (d document) revision() (*Revision, error) {
	if d.Plan == nil {
		return nil, errNoPlan
	}
	r := &Revision{Cluster: d.Cluster, OrderFile: d.OrderFile, values: d.Values, Options: d.Options.options(), Plan: d.Plan.plan()}
	var err error
	if r.Hooks, err = restoreHooks(d.Hooks); err != nil {
		return nil, err
	}
	if err := r.restore(d.Resources); err != nil {
		return nil, err
	}
	return r, errors.Join(checkFrame(r.Options.OrderSource), checkPlan(r.Plan, r.Resources))
}

// unzip decompresses up to limit bytes.
func unzip(data []byte, limit int64) ([]byte, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(zipped, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is larger than %d MiB when decompressed", limit>>20)
	}
	return text, err
}

// laterFormatError reports a valid revision that needs a later version.
type laterFormatError struct{ format string }

func (e *laterFormatError) Error() string {
	return fmt.Sprintf("it has format %s, and this version of ordapply reads up to %s: use the later version that wrote it", e.format, formatV5)
}

// restore decodes the resources and their applications.
func (r *Revision) restore(stored []storedResource) error {
	applications := map[object.ID]string{}
	for i, s := range stored {
		resource, err := s.resource()
		if err != nil {
			return fmt.Errorf("resource %d%w", i, err)
		}
		r.Resources = append(r.Resources, resource)
		applications[resource.ID] = s.Application
	}
	if len(r.Options.Stacks) > 0 {
		r.Options.ApplicationOf = func(m object.Meta) string { return applications[m.ID] }
	}
	return nil
}

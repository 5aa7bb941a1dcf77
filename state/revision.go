package state

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Status says how the run that applied a revision ended.
type Status string

// The statuses of a revision.
const (
	Pending    Status = "pending"    // its run goes on, or was killed
	Deployed   Status = "deployed"   // all of it got ready
	Failed     Status = "failed"     // its run ended otherwise
	Superseded Status = "superseded" // it was deployed, and a later one is
)

// Revision is a stream that was applied, and the order it was applied in.
type Revision struct {
	Number  int       // from 1; a History gives it
	Created time.Time // by the API server's clock
	Status  Status
	// Cluster is the identity of the cluster it was applied to; "" when it could
	// not be read.
	Cluster string
	// Rollback is the number of the revision that was gone back to; 0 when it came
	// from a stream.
	Rollback int
	// Plan is the order.
	Plan *ordering.Plan
	// Resources are the manifests as they were given, with their real namespaces
	// and all stamps, sorted by ID.
	Resources []ordering.Resource
	// Options are those that the plan was made with, and that the order of their
	// deletion is to be made with.
	Options ordering.Options
	// OrderFile is the text of the file that --order named; "" without one.
	OrderFile string
}

// Objects are the manifests, by their ID.
func (r *Revision) Objects() map[object.ID]*unstructured.Unstructured {
	out := make(map[object.ID]*unstructured.Unstructured, len(r.Resources))
	for _, resource := range r.Resources {
		out[resource.ID] = &unstructured.Unstructured{Object: resource.Object}
	}
	return out
}

// format is that of an encoded revision. One that is not known is not guessed
// at.
const format = "v1"

// document is a revision as it is stored.
type document struct {
	Format  string `json:"format"`
	Cluster string `json:"cluster,omitempty"`
	content
	Plan *ordering.Plan `json:"plan"`
}

// content is what makes two revisions of one cluster the same.
type content struct {
	Waves     [][]object.ID    `json:"waves"`
	Resources []storedResource `json:"resources"`
	Options   storedOptions    `json:"options"`
	OrderFile string           `json:"orderFile,omitempty"`
}

type storedResource struct {
	Object      json.RawMessage `json:"object"`
	Chart       string          `json:"chart,omitempty"`
	Application string          `json:"application,omitempty"`
}

// storedOptions are ordering.Options without the function; what it says of each
// resource stands with the resource.
type storedOptions struct {
	Frame             ordering.Frame         `json:"frame,omitempty"`
	SkipHooks         bool                   `json:"skipHooks,omitempty"`
	NoPrerequisites   bool                   `json:"noPrerequisites,omitempty"`
	PrerequisiteKinds []string               `json:"prerequisiteKinds,omitempty"`
	Charts            []ordering.Chart       `json:"charts,omitempty"`
	Stacks            []ordering.Stack       `json:"stacks,omitempty"`
	KindTimeouts      []ordering.KindTimeout `json:"kindTimeouts,omitempty"`
}

// content is what makes the revision the same as another one of the cluster. It
// does not depend on where the manifests stood.
func (r *Revision) content() (content, error) {
	o := r.Options
	out := content{OrderFile: r.OrderFile, Options: storedOptions{
		o.Frame, o.SkipHooks, o.NoPrerequisites, o.PrerequisiteKinds, o.Charts, o.Stacks, o.KindTimeouts,
	}}
	out.Waves = make([][]object.ID, len(r.Plan.Waves))
	for _, step := range r.Plan.Steps {
		out.Waves[step.Wave] = append(out.Waves[step.Wave], step.ID)
	}
	sorted := slices.SortedFunc(slices.Values(r.Resources), func(a, b ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	for _, resource := range sorted {
		text, err := json.Marshal(resource.Object)
		if err != nil {
			return out, fmt.Errorf("%s: %w", resource.ID, err)
		}
		stored := storedResource{Object: text, Chart: resource.Chart}
		if o.ApplicationOf != nil {
			stored.Application = o.ApplicationOf(resource.Meta)
		}
		out.Resources = append(out.Resources, stored)
	}
	return out, nil
}

// digest names the content. Two revisions with the same one apply the same.
func (c content) digest() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// encode is the revision as it is stored, compressed. The same revision always
// gives the same bytes.
func (r *Revision) encode(c content) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if err := json.NewEncoder(zipped).Encode(document{format, r.Cluster, c, r.Plan}); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// decode reads a revision; number, time and status are not part of what is
// stored.
func decode(data []byte) (*Revision, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); d.Format != format && strings.HasPrefix(d.Format, "v") {
		return nil, &laterFormatError{d.Format}
	} else if err != nil {
		return nil, err
	}
	if d.Plan == nil {
		return nil, errors.New("it holds no plan")
	}
	r := &Revision{Cluster: d.Cluster, Plan: d.Plan, OrderFile: d.OrderFile, Options: d.Options.options()}
	return r, r.restore(d.Resources)
}

// laterFormatError says that a revision is whole and not for this version.
type laterFormatError struct{ format string }

func (e *laterFormatError) Error() string {
	return fmt.Sprintf("it is of format %s, and this ordapply reads %s: a later version of ordapply wrote it", e.format, format)
}

func (o storedOptions) options() ordering.Options {
	return ordering.Options{
		Frame: o.Frame, SkipHooks: o.SkipHooks, NoPrerequisites: o.NoPrerequisites, PrerequisiteKinds: o.PrerequisiteKinds,
		Charts: o.Charts, Stacks: o.Stacks, KindTimeouts: o.KindTimeouts,
	}
}

// restore reads the resources, and what the options said of each.
func (r *Revision) restore(stored []storedResource) error {
	applications := map[object.ID]string{}
	for i, s := range stored {
		obj := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(s.Object, &obj.Object); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		meta := apply.Meta(obj)
		r.Resources = append(r.Resources, ordering.Resource{Meta: meta, Object: obj.Object, Chart: s.Chart})
		applications[meta.ID] = s.Application
	}
	if len(r.Options.Stacks) > 0 {
		r.Options.ApplicationOf = func(m object.Meta) string { return applications[m.ID] }
	}
	return nil
}

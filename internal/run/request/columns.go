package request

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
)

// Where no rule knows a kind, the printer columns of its
// CustomResourceDefinition name the status fields that matter to people, and its
// schema says whether there is a status to wait for. The
// CustomResourceDefinitions of the stream are known. For any other kind the
// CustomResourceDefinition is read once, when the first object of the kind is
// judged; if that fails, the object is judged without it.

// Columns reads printer columns, and teaches them to an Assessor.
type Columns struct {
	loop    *loop.Loop
	cluster kube.Cluster
	health  *health.Assessor
	onRead  func(step int)
	reads   map[string]*columnRead // by name of the CustomResourceDefinition
}

// columnRead is the read of one such CustomResourceDefinition.
type columnRead struct {
	done    bool
	pending []int // steps that are judged when it is done
}

// NewColumns returns a reader of printer columns. onRead is called for the steps that waited
// for their kind's.
func NewColumns(l *loop.Loop, cluster kube.Cluster, assessor *health.Assessor, onRead func(step int)) *Columns {
	return &Columns{l, cluster, assessor, onRead, map[string]*columnRead{}}
}

// Await reports whether the assessment of a step's live object must wait for
// the printer columns of its kind, and starts reading them.
func (c *Columns) Await(step int, kind kube.Kind, live *unstructured.Unstructured, given health.Assessment) bool {
	name := kind.CRDName()
	read := c.reads[name]
	if read == nil {
		definition, served := kube.KindsOf(c.cluster)(kube.DefiningKinds()[0])
		if !served || !c.health.MissesDefinition(live, given, kind.HasStatus) {
			return false
		}
		read = &columnRead{}
		c.reads[name] = read
		request := func(ctx context.Context) (*unstructured.Unstructured, error) {
			return c.cluster.Get(ctx, definition, "", name)
		}
		loop.Ask(c.loop, request, func(crd *unstructured.Unstructured, err error) { c.handleRead(read, crd, err) })
	}
	if !read.done && !slices.Contains(read.pending, step) {
		read.pending = append(read.pending, step)
	}
	return !read.done
}

// IsAwaiting reports whether a step waits for the printer columns of its
// kind.
func (c *Columns) IsAwaiting(step int, kind kube.Kind) bool {
	read := c.reads[kind.CRDName()]
	return read != nil && !read.done && slices.Contains(read.pending, step)
}

// handleRead resumes the steps that waited for printer columns.
func (c *Columns) handleRead(read *columnRead, crd *unstructured.Unstructured, err error) {
	read.done = true
	if err == nil {
		c.health.Learn(crd)
	}
	for _, i := range read.pending {
		c.onRead(i)
	}
}

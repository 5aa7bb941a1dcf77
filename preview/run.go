package preview

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/internal/parallel"
	"github.com/ordapply/ordapply/internal/redact"
	"github.com/ordapply/ordapply/internal/snapshot"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

// Input is the run that is previewed.
type Input struct {
	Cluster  kube.ReadOnly
	Plan     *ordering.Plan
	Snapshot snapshot.Reader // of the plan's steps
	Sent     []object.ID     // what was just applied for the run
	Timeout  time.Duration   // of the run; 0: none
}

// run computes for each step what a run would do. The rows are made concurrently, so
// nothing of it is written after that starts.
type run struct {
	Input
	read       []snapshot.Object // by position of the steps
	index      ordering.Positions
	namespaces map[string]namespaceState          // by name of the Namespace
	setName    func(set, namespace string) string // see ownership.NameSets
}

// namespaceState is the state of a Namespace that objects of the stream are in.
type namespaceState struct {
	inStream    bool   // the stream contains it
	justCreated bool   // Send has just created it
	absent      bool   // it does not exist
	terminating bool   // it is terminating
	blockedBy   string // what blocks its deletion
}

// Of reports what a run would do. Nothing is written. Errors of the run are rows too, all
// of them; the returned error is progress.ErrInterrupted when ctx ended the preview.
func Of(ctx context.Context, in Input) (*Preview, error) {
	mask, err := redact.NewMasker()
	if err != nil {
		return nil, err
	}
	r := &run{Input: in, index: in.Plan.Positions(), namespaces: map[string]namespaceState{}, setName: ownership.NameSets(ctx, in.Cluster)}
	r.read = in.Snapshot.Read(ctx, in.Timeout)
	r.readNamespaces(ctx)
	preview := &Preview{Rows: r.rows(ctx), masker: mask}
	if ctx.Err() != nil {
		return nil, progress.ErrInterrupted
	}
	r.deferOldSchemaErrors(preview.Rows)
	for i := range preview.Rows {
		if err := r.setDigest(i, &preview.Rows[i]); err != nil {
			return nil, fmt.Errorf("compute the digest of %s: %w", preview.Rows[i].ID, err)
		}
		preview.Rows[i].hideValues(mask)
	}
	return preview, nil
}

// readNamespaces reads the Namespaces that the stream uses. One that does not
// exist and is not in the stream, or may not be read, is found out by the dry
// run of an apply to it.
func (r *run) readNamespaces(ctx context.Context) {
	kind, ok := r.Cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	for _, s := range r.Plan.Steps {
		name := s.ID.Namespace
		if _, known := r.namespaces[name]; known || name == "" || !ok {
			continue
		}
		live, err := r.Cluster.Get(ctx, kind, "", name)
		h := namespaceState{inStream: r.index.HasNamespace(name), absent: kubeerr.IsMissing(err)}
		h.justCreated = slices.Contains(r.Sent, object.ID{Kind: "Namespace", Name: name})
		if err == nil && live.GetDeletionTimestamp() != nil {
			h.terminating, h.blockedBy = true, kube.DeletionBlockers(live)
		}
		r.namespaces[name] = h
	}
}

// rows does the dry run of every step, some at a time.
func (r *run) rows(ctx context.Context) []Row {
	rows := make([]Row, len(r.Plan.Steps))
	parallel.Each(len(rows), r.Snapshot.Workers, func(i int) { rows[i] = r.resource(i).preview(ctx) })
	return rows
}

// deferOldSchemaErrors defers resources that the server rejects only because their
// CustomResourceDefinition changes earlier in the stream.
func (r *run) deferOldSchemaErrors(rows []Row) {
	for i := range rows {
		err := rows[i].Err
		if err == nil || !kubeerr.IsUnknownField(err) && !apierrors.IsInvalid(err) {
			continue
		}
		for _, maker := range r.Plan.Steps[i].ProvidedBy {
			if at, ok := r.index[maker]; ok && rows[at].Action != ActionUnchanged && rows[at].Action != ActionError {
				rows[i] = r.resource(i).deferred(fmt.Sprintf("its kind is changed by %s earlier in this stream", maker))
				break
			}
		}
	}
}

package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/fill"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Input is the run that is previewed. Applier.Preview of package apply fills it.
type Input struct {
	Cluster kube.ReadOnly                            // required
	Plan    *ordering.Plan                           // required
	Objects map[object.ID]*unstructured.Unstructured // the manifest of each step of Plan
	Manager string                                   // the field manager; required
	// Schemas find unknown fields and wrong types of resources of which no dry run is possible;
	// default: they are not found.
	Schemas openapi.Client
	// Membership is the apply set of the resources; its zero value is none.
	Membership     applyset.Membership
	ForceConflicts applyset.Force   // the managers whose fields the run takes over
	Health         *health.Assessor // judges live objects; default: the rules of package health
	Workers        int              // bounds the concurrent requests; default 32
	Sent           []object.ID      // the resources that were just applied for the run
	Timeout        time.Duration    // of the run; 0: none
	GoingBack      bool             // the stream is that of an earlier revision
	// KindTimeout is how long the run waits for a kind or a Namespace that neither the cluster
	// nor the stream defines; not positive: not at all.
	KindTimeout  time.Duration
	NewNamespace string // is created if it does not exist
	// MayRecreate are the resources that may be deleted and created again, besides manifests
	// that say so.
	MayRecreate map[object.ID]bool
}

// run computes the row of each step. The rows are made concurrently, so nothing of it is
// written meanwhile.
type run struct {
	Input
	snapshot   request.Reader       // of the plan's steps
	mayAppear  func(step int) bool  // whether the run waits for the kind of a step
	read       []request.LiveObject // by position of the steps
	refused    func(step int) error // see request.Reader.RejectedByCRDs
	fields     func(step int) error // see preflight.Checks.FieldErrors
	index      ordering.Positions
	namespaces map[string]namespaceState // by name of the Namespace
	findSet    write.SetFinder           // see write.NewSetFinder
	secretive  mutation.Secretive        // the resources that take values of Secrets
	filled     map[int]fill.Filled       // by position of the steps that take values
}

// mayRecreate reports whether the object of a manifest may be deleted and created again.
func (r *run) mayRecreate(manifest *unstructured.Unstructured) bool {
	return write.MayRecreate(manifest) || r.MayRecreate[kube.Meta(manifest).ID]
}

// namespaceState is the state of a Namespace that objects of the stream are in.
type namespaceState struct {
	inStream    bool   // the stream contains it, or the run creates it
	justCreated bool   // Send has just created it
	absent      bool   // it does not exist
	terminating bool   // it is terminating
	blockedBy   string // blockers of its deletion
}

// Of reports what a run would do. Nothing is written. Errors of the run are rows too, all
// of them; the returned error is event.ErrInterrupted when ctx ended the preview.
func Of(ctx context.Context, in Input) (*Preview, error) {
	mask, err := redact.NewMasker()
	if err != nil {
		return nil, err
	}
	r := newRun(ctx, in)
	r.readNamespaces(ctx)
	preview := &Preview{Rows: r.rows(ctx), masker: mask, origins: r.sources().Origins(r.secretive)}
	preview.Notes = ownerNotes(preview.Rows)
	if ctx.Err() != nil {
		return nil, event.ErrInterrupted
	}
	r.deferOldSchemaErrors(ctx, preview.Rows)
	for i := range preview.Rows {
		row := &preview.Rows[i]
		if err := r.setDigest(i, row); err != nil {
			return nil, fmt.Errorf("compute the digest of %s: %w", row.ID, err)
		}
		row.hideTexts()
		row.hideValues(mask)
	}
	return preview, nil
}

// newRun reads the live objects of a run.
func newRun(ctx context.Context, in Input) *run {
	r := &run{Input: in, index: in.Plan.Positions(), namespaces: map[string]namespaceState{}, filled: map[int]fill.Filled{}, findSet: write.NewSetFinder(ctx, in.Cluster)}
	owner := write.Owner{Membership: in.Membership, Manager: in.Manager, Force: in.ForceConflicts}
	r.snapshot = request.NewReader(in.Cluster, owner, in.Plan, in.Objects, cmp.Or(in.Health, &health.Assessor{}), cmp.Or(in.Workers, 32))
	r.secretive = mutation.SecretiveOf(r.snapshot.Manifests)
	r.read, _ = r.snapshot.Read(ctx, in.Timeout)
	checks := preflight.Checks{Cluster: in.Cluster, Reader: r.snapshot, Reads: r.read, Plan: in.Plan, Schemas: in.Schemas, KindTimeout: in.KindTimeout}
	r.mayAppear, r.fields = checks.MayAppear, checks.FieldErrors(ctx)
	r.refused = r.snapshot.RejectedByCRDs(in.Plan, r.read)
	return r
}

// ownerNotes describes the run's findings about other field managers.
func ownerNotes(rows []Row) []string {
	var found []event.OwnedFields
	for _, row := range rows {
		found = append(found, event.OwnedFields{ID: row.ID, FieldOwners: row.Owners})
	}
	return event.OwnerNotes(found, true)
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
		h := namespaceState{inStream: r.index.HasNamespace(name) || name == r.NewNamespace, absent: fault.IsMissing(err)}
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
	activity.Each(len(rows), r.snapshot.Workers, func(i int) {
		if !r.isTemplate(i) {
			rows[i] = r.resource(i).preview(ctx)
		}
	})
	r.fillRows(ctx, rows)
	for i := range rows {
		rows[i].hideTexts()
	}
	return rows
}

// deferOldSchemaErrors defers resources that the server rejects only because their
// CustomResourceDefinition changes earlier in the stream.
func (r *run) deferOldSchemaErrors(ctx context.Context, rows []Row) {
	for i := range rows {
		err := rows[i].Err
		if err == nil || !fault.IsSchemaError(err) && !apierrors.IsInvalid(err) {
			continue
		}
		for _, maker := range r.Plan.Steps[i].ProvidedBy {
			if at, ok := r.index[maker]; ok && rows[at].Action != ActionUnchanged && rows[at].Action != ActionError {
				if rows[i].rejected {
					break
				}
				rows[i] = r.resource(i).deferredChange(ctx, fmt.Sprintf("its kind is changed by %s earlier in this stream", maker))
				break
			}
		}
	}
}

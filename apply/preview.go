package apply

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Action is what a run would do with a resource.
type Action string

// The actions.
const (
	WillCreate   Action = "create"
	WillAdopt    Action = "adopt" // it is there, and was never applied by this manager, or to this set
	WillUpdate   Action = "update"
	WillStay     Action = "unchanged"
	WillRecreate Action = "recreate" // delete it and make it anew, or wait until the old one is gone
	// WillDefer is what only the run itself can find out: what the resource lives
	// in, or its kind, is made by the same stream.
	WillDefer Action = "deferred"
	WillPrune Action = "prune" // after the last wave
	// WillFail is what the run would fail with.
	WillFail Action = "error"
)

// Actions are all actions in the order in which people count them.
func Actions() []Action {
	return []Action{WillCreate, WillAdopt, WillUpdate, WillRecreate, WillPrune, WillStay, WillDefer, WillFail}
}

// Row is what would happen to one resource.
type Row struct {
	ID     object.ID
	Layer  string // that placed it; "" when none did
	Wave   int    // index into the plan's waves; -1 for what the stream no longer holds
	Action Action
	Why    ordering.Reason // of its place; of a pruned resource: of its going
	Detail string          // what there is to say of the action; "" when nothing
	// Live is what there is and Merged what would be, without what only the
	// server writes. They are nil where there is none, and where it is not known:
	// an unchanged resource is not read, and one whose kind is not served yet
	// cannot be. Values of Secrets are masked: the same value by the same words
	// in one preview, by others in the next.
	Live, Merged *unstructured.Unstructured
	Err          error // an *Error, with WillFail

	essence [sha256.Size]byte // see Seal
}

// Preview is what a run would do, as data, in plan order.
type Preview struct {
	Rows  []Row
	Notes []string // remarks for people
	mask  *mask
}

// Err joins what the run would fail with.
func (p *Preview) Err() error {
	var errs []error
	for _, row := range p.Rows {
		errs = append(errs, row.Err)
	}
	return errors.Join(errs...)
}

// Count says of how many resources an action is.
func (p *Preview) Count(action Action) int {
	n := 0
	for _, row := range p.Rows {
		if row.Action == action {
			n++
		}
	}
	return n
}

// Changes tells whether the run would change anything, as far as is known.
func (p *Preview) Changes() bool { return p.Count(WillStay)+p.Count(WillFail) < len(p.Rows) }

// AddPruned adds a live object that would be deleted after the last wave, or that
// would stay all the same: stays says why, "" when it goes.
func (p *Preview) AddPruned(live *unstructured.Unstructured, why ordering.Reason, stays string) {
	row := Row{ID: Meta(live).ID, Wave: -1, Action: WillPrune, Why: why, Live: shown(live), essence: sha256.Sum256([]byte(live.GetUID()))}
	if stays != "" {
		row.Action, row.Detail, row.Live = WillStay, "it stays: "+stays, nil
	}
	p.mask.row(&row)
	p.Rows = append(p.Rows, row)
}

// Preview tells what Run would do, without doing it: it reads what there is, and
// lets the API server rehearse what would change. Nothing is written. What the
// run would fail with are rows too, all of them; the error is ErrInterrupted
// when ctx ended it.
func (a Applier) Preview(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) (*Preview, error) {
	mask, err := newMask()
	if err != nil {
		return nil, err
	}
	a.Cluster = persistent{a.Cluster}
	r := &rehearsal{run: newRun(a.withDefaults(), plan, objects), homes: map[string]home{}, named: a.nameSets(ctx)}
	r.survey(ctx)
	r.visitHomes(ctx)
	preview := &Preview{Rows: r.rows(ctx), mask: mask}
	if ctx.Err() != nil {
		return nil, ErrInterrupted
	}
	r.forgiveOldCRDs(preview.Rows)
	for i := range preview.Rows {
		if err := r.seal(i, &preview.Rows[i]); err != nil {
			return nil, fmt.Errorf("seal %s: %w", preview.Rows[i].ID, err)
		}
		mask.row(&preview.Rows[i])
	}
	return preview, nil
}

// rows rehearses every step, as many at a time as there are workers.
func (r *rehearsal) rows(ctx context.Context) []Row {
	rows := make([]Row, len(r.steps))
	var group sync.WaitGroup
	places := make(chan struct{}, r.a.Workers)
	for i := range r.steps {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			rows[i] = r.row(ctx, i)
		})
	}
	group.Wait()
	return rows
}

// shown is a live object without what says nothing about the manifest: what
// only the server writes, and our own fingerprint.
func shown(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	out := obj.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	if annotations := out.GetAnnotations(); annotations != nil {
		delete(annotations, applyset.AppliedAnnotation)
		if len(annotations) == 0 {
			annotations = nil
		}
		out.SetAnnotations(annotations)
	}
	return out
}

// same tells whether two objects, as they are shown, are the same.
func same(live, merged *unstructured.Unstructured) bool {
	return reflect.DeepEqual(live.Object, merged.Object)
}

// Package history stores the revisions of an apply set in Secrets of the cluster.
//
//	h := history.History{Cluster: c, Parent: set.Parent, Vouchers: set.Vouchers(), Vouch: vouch}
//	n, err := h.Begin(ctx, revision)   // before the first write of its run
//	err = h.End(ctx, n, history.Outcome{Status: history.Deployed, Times: times})
//	last, err := h.Last(ctx, history.Deployed)
//
// The types that are encoded are this package's own (stored*.go), not package
// ordering's: a stored revision must stay readable.
package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// DefaultLimit is the number of revisions that are kept by default.
const DefaultLimit = 10

// Cluster is the set of API server calls that storing revisions needs.
type Cluster interface {
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
	List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error)
	// Create creates an object; AlreadyExists when there is one of its name.
	Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, kube.Kind, *unstructured.Unstructured, kube.PatchOptions) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, options kube.DeleteOptions) error
}

// History is the revisions of an apply set. They are stored in Secrets in the
// namespace of its parent, which are not members of the set. Writers must hold
// the set's lock. Errors wrap the API server's and name the set.
type History struct {
	Cluster Cluster         // required
	Parent  applyset.Parent // required
	// Namespace is where it is stored; default the parent's.
	Namespace string
	// Limit is the number of revisions to keep, default DefaultLimit. The one
	// that was deployed last is kept in any case.
	Limit int

	// Keep selects the values of Secrets to keep, default KeepInNamespace.
	Keep Keep
	// OnNote is called with remarks for people; optional.
	OnNote func(string)

	// Vouchers are the parent's as it was read; nil where it has none.
	Vouchers Vouchers
	// Vouch writes the vouchers of the next revision, and its number, to the parent, before
	// the revision is stored; required to store one.
	Vouch func(ctx context.Context, number int, next Vouchers) error
	// Remember makes the parent list members that no revision will contain, before the last
	// revision that contains them is deleted; required to delete one.
	Remember func(ctx context.Context, members []object.ID) error
	// User returns the account that stores a revision, "" if it is unknown. It is called
	// only when one is stored; optional.
	User func(context.Context) string

	ahead func() ([]*unstructured.Unstructured, error) // waits for what ReadAhead lists; nil: it was not called
}

// Begin stores a revision as pending, before the first write of its run, and
// returns its number. When the newest revision has the same content, and the parent vouches
// for it, Begin returns that one and writes nothing. It removes leftovers of killed runs.
func (h History) Begin(ctx context.Context, r Revision) (int, error) {
	stored, err := h.ReadIndex(ctx)
	if err != nil {
		return 0, err
	}
	draft, err := h.NewDraft(r)
	if err == nil {
		draft, err = h.Encode(stored, draft, r.Cluster)
	}
	if err != nil {
		return 0, err
	}
	return h.BeginAfter(ctx, stored, draft, r.Record)
}

// BeginAfter is Begin on a history whose index was read under the same lock, with a draft of the
// revision and the record of its run.
func (h History) BeginAfter(ctx context.Context, stored Index, draft Draft, planned Record) (int, error) {
	if newest := stored.Newest(); h.isStored(newest, draft) {
		return newest.Number, h.planAgain(ctx, newest, planned)
	}
	if err := h.cleanUp(ctx, stored); err != nil {
		return 0, err
	}
	draft, err := h.encoded(draft)
	if err != nil {
		return 0, err
	}
	draft.revision.Record = planned
	for range numbersTried {
		n := stored.next()
		switch err = h.store(ctx, &stored, n, draft); {
		case err == nil:
			return n, nil
		case !apierrors.IsAlreadyExists(err):
			return 0, err
		}
		stored.numbers[n] = true // a Secret that is no revision has its name
	}
	return 0, err
}

// numbersTried bounds the numbers that a new revision tries.
const numbersTried = 20

// store vouches for a revision and stores it under a number.
func (h History) store(ctx context.Context, stored *Index, n int, draft Draft) error {
	about := draft.revision.summary(draft.digest)
	about.Values = draft.namespaces
	if h.User != nil {
		about.Origin = about.by(h.User(ctx))
	}
	about.Origin = about.bounded()
	about.Parent = n
	if err := h.Vouch(ctx, n, h.Vouchers.with(stored.entries, n, dataDigest(draft.data))); err != nil {
		return err
	}
	secrets, err := pack(h.Parent.ID, h.namespace(), n, about, draft.revision.Record, draft.data)
	if err != nil {
		return h.wrapError("encode a revision", err)
	}
	for _, secret := range secrets {
		if err := h.create(ctx, stored, secret); err != nil {
			return h.wrapError(fmt.Sprintf("write revision %d", n), err)
		}
	}
	return nil
}

// isOf reports whether the revision has this content on this cluster; an
// unknown cluster ID matches any, so that a user who may not read it creates
// no new revision. For a revision that was not deployed, both must be the
// same rollback or none.
func (e Entry) isOf(r Revision, digest string) bool {
	if e.Status != Deployed && e.Rollback != r.Rollback || e.Record().HandedOver != "" {
		return false
	}
	return e.digest == digest && (e.cluster == r.Cluster || e.cluster == "" || r.Cluster == "")
}

// maxOrders bounds the names of SortOrders in a listing.
const maxOrders = 5

// summary describes the revision for a listing.
func (r *Revision) summary(digest string) revisionSummary {
	layers := map[string]bool{}
	for _, step := range r.Plan.Steps {
		if step.Layer != "" && step.Why.Rule != ordering.RulePrerequisite { // prerequisites go before all layers
			layers[step.Layer] = true
		}
	}
	orders := r.Plan.Orders()
	return revisionSummary{Digest: digest, Cluster: r.Cluster, Resources: len(r.Plan.Steps), Layers: len(layers), Waves: len(r.Plan.Waves), Orders: orders[:min(len(orders), maxOrders)], Rollback: r.Rollback, Hooks: len(r.Hooks), Origin: r.Origin}
}

// planAgain records the plan of another run of a stored revision, before its first write:
// only its adoptions. All other members that are not recorded as adopted were created by
// runs of the set.
func (h History) planAgain(ctx context.Context, e *Entry, planned Record) error {
	before := e.Record()
	next := before.WithAdopted(planned.Adopted)
	if e.Status != Deployed {
		next.Operation = cmp.Or(planned.Operation, next.Operation)
	}
	if len(next.Adopted) == len(before.Adopted) && next.Operation == before.Operation {
		return nil
	}
	e.setRecord(next)
	return h.mark(ctx, e, e.Status)
}

// Outcome is the end of a revision's run.
type Outcome struct {
	Status Status         // Deployed or Failed
	Times  track.RunTimes // how long it took
	Record Record         // its effects
	Began  Index          // as its run began: a record that is the same since is not decoded again
	Stream Revision       // its resources and hooks
}

// End records the outcome of a revision's run. A deployed revision stays deployed,
// with its times, even when a later run of the same content fails; the record then
// says that it failed. Earlier deployed revisions become superseded, and revisions
// over the limit are deleted. It reads the history only if something changes.
func (h History) End(ctx context.Context, n int, outcome Outcome) error {
	if h.isEnded(outcome.Began, n, outcome.Record) {
		return nil
	}
	stored, err := h.readAgain(ctx, outcome.Began)
	if err != nil {
		return err
	}
	at := stored.at(n)
	if at < 0 {
		return h.wrapError(fmt.Sprintf("mark revision %d as %s", n, outcome.Status), errGone)
	}
	stored.reuseRecords(outcome.Began)
	e := &stored.entries[at]
	status := outcome.Status
	if e.Status == Deployed {
		status = Deployed
	}
	if e.Status != status {
		e.RunTimes = outcome.Times
	}
	if e.Status != Deployed && (status == Deployed || e.Rollback > 0) { // a rollback goes on even where its target is trimmed
		_, values := h.separate(outcome.Stream)
		h.keepValues(ctx, n, values, stored)
	}
	if next := stored.recordAfter(at, outcome.Record); e.Status != status || !equality.Semantic.DeepEqual(next, e.Record()) {
		e.setRecord(next)
		if err := h.mark(ctx, e, status); err != nil {
			return err
		}
	}
	if stored.entries[at].Status == Deployed {
		for i := range stored.entries[:at] {
			if e := &stored.entries[i]; e.Status == Deployed {
				if err := h.mark(ctx, e, Superseded); err != nil {
					return err
				}
			}
		}
	}
	return h.trim(ctx, stored)
}

// isEnded reports whether a run of a revision that was deployed before it began, with this record,
// changes nothing in the history.
func (h History) isEnded(began Index, n int, record Record) bool {
	at := began.at(n)
	if at < 0 || began.entries[at].Status != Deployed || len(began.entries) > h.limit() {
		return false
	}
	othersDeployed := slices.ContainsFunc(began.entries[:at], func(e Entry) bool { return e.Status == Deployed })
	return !othersDeployed && equality.Semantic.DeepEqual(began.recordAfter(at, record), began.entries[at].Record())
}

// at returns the position of a revision; -1 if there is none.
func (s Index) at(n int) int {
	return slices.IndexFunc(s.entries, func(e Entry) bool { return e.Number == n })
}

// recordAfter returns the record of the revision at a position after another run of it.
func (s Index) recordAfter(at int, run Record) Record {
	run.Pruned = run.Pruned && at > 0 // it is about resources of older revisions
	return s.entries[at].afterRun(run)
}

// IsRecord reports whether an object stores a part of this history.
func (h History) IsRecord(found *unstructured.Unstructured) bool {
	switch gvk := found.GroupVersionKind(); {
	case gvk.Group != "" || gvk.Kind != "Secret":
		return false
	case found.GetLabels()[setLabel] == h.Parent.SetID():
		return found.GetNamespace() == h.namespace() && h.isNamed(found)
	}
	return h.isValues(found) && found.GetName() == ValuesName(h.Parent.ID)
}

// mark changes the status of a revision.
func (h History) mark(ctx context.Context, e *Entry, status Status) error {
	options := kube.PatchOptions{Manager: "ordapply", Force: true}
	patch, err := e.statusPatch(status)
	if err == nil {
		_, err = h.Cluster.Apply(ctx, kube.CoreKind("secrets"), patch, options)
	}
	if err != nil {
		return h.wrapError(fmt.Sprintf("mark revision %d as %s", e.Number, status), err)
	}
	e.Status = status
	return nil
}

func (h History) wrapError(doing string, err error) error {
	return fmt.Errorf("%s of %s: %w", doing, h.set(), err)
}

func (h History) set() string { return "apply set " + h.namespace() + "/" + h.Parent.ID.Name }

func (h History) namespace() string { return cmp.Or(h.Namespace, h.Parent.ID.Namespace) }

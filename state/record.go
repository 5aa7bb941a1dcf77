package state

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// RevisionMetadata is the history's data on a run, in addition to its plan and its
// stream.
type RevisionMetadata struct {
	// Revision holds the options and everything else that is not in Run.
	Revision history.Revision
	// Limit is the number of revisions to keep, default history.DefaultLimit.
	Limit int
	// Keep selects the values of Secrets to keep.
	Keep history.Keep
	// User returns the account of the run, "" if it is unknown. It is called only when a
	// revision is stored; optional.
	User func(context.Context) string
}

// record is the revision of a run in progress.
type record struct {
	cluster  kube.Cluster
	history  history.History
	revision history.Revision
	number   int                           // 0: the run has not begun
	stored   *history.Index                // the history as read under the lock; nil: not read yet
	begun    func() (history.Draft, error) // waits for that of the revision, not encoded; nil: it was not begun
	draft    func() (history.Draft, error) // waits for that of the revision
	released []object.ID                   // by the run, of earlier runs' adoptions
}

// revision returns the revision of the run.
func (r Run) revision() history.Revision {
	revision := r.Metadata.Revision
	revision.Plan, revision.Resources, revision.Hooks = r.Plan, r.Stream.Resources, r.Stream.Hooks
	return revision
}

// beginDraft starts to make the draft of the run's revision.
func (r Run) beginDraft() func() (history.Draft, error) {
	records, revision := r.records(), r.revision()
	return activity.InBackground(func() (history.Draft, error) { return records.NewDraft(revision) })
}

// record returns the record of a run on a set.
func (r Run) record(set *set.Set) *record {
	return &record{
		cluster:  r.Cluster,
		history:  history.History{Cluster: r.Cluster, Parent: set.Parent, Namespace: r.Namespace, Limit: r.Metadata.Limit, Vouchers: set.Vouchers(), User: r.Metadata.User, Keep: r.Metadata.Keep, OnNote: r.OnNote},
		revision: r.revision(),
		begun:    r.draft,
		stored:   set.HistoryIndex(),
	}
}

// keepingNote names the Secrets that are going to keep values outside the revision; "" for
// none.
func (c *record) keepingNote() string { return c.history.KeepingNote(c.revision) }

// read reads the history, unless Recover has read it already. Then it starts to read the ID of the
// cluster and to encode the revision, which goes on while the run reads the cluster.
func (c *record) read(ctx context.Context) error {
	ctx = activity.For(ctx, "for the history")
	if c.stored == nil {
		stored, err := c.history.ReadIndex(ctx)
		if err != nil {
			return err
		}
		c.stored = &stored
	}
	kept, stored, cluster, revision, begun := c.history, *c.stored, c.cluster, c.revision, c.begun
	if begun == nil {
		begun = func() (history.Draft, error) { return kept.NewDraft(revision) }
	}
	c.draft = activity.InBackground(func() (history.Draft, error) {
		id, err := kube.ClusterID(ctx, cluster)
		if err != nil {
			return history.Draft{}, err
		}
		draft, err := begun()
		if err != nil {
			return draft, err
		}
		return kept.Encode(stored, draft, id)
	})
	return nil
}

// closeFormer ends the history of a set that another tool managed: the run begins a new one.
func (c *record) closeFormer(ctx context.Context, takenFrom string) error {
	if takenFrom == "" {
		return nil
	}
	if _, err := c.draft(); err != nil { // it reads what is changed here
		return err
	}
	return c.history.Close(activity.For(ctx, "for the history"), *c.stored, takenFrom)
}

// entries returns the revisions before the run, as they were read.
func (c *record) entries() []history.Entry { return history.Current(c.stored.Entries()) }

// begin stores the revision, before the first write of the run, with the planned
// creations and adoptions.
func (c *record) begin(ctx context.Context, planned history.Record) (err error) {
	draft, err := c.draft()
	if err != nil {
		return err
	}
	c.revision.Cluster, c.revision.Record = draft.Cluster(), planned
	c.number, err = c.history.BeginAfter(activity.For(ctx, "for the history"), *c.stored, draft, planned)
	return err
}

// end records the outcome, the effects and the duration of the run. An interrupted run gets some
// time for it; a run that lost its lock writes nothing more, and the next run cleans up.
func (c *record) end(ctx context.Context, tried attempt) error {
	if c.number == 0 || errors.Is(context.Cause(ctx), lease.ErrLost) {
		return nil
	}
	limit := 30 * time.Second
	if ctx.Err() != nil {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	out := history.Outcome{Status: history.Failed, Record: tried.did, Began: *c.stored, Stream: c.revision}
	out.Times = track.RunTimes{Seconds: tried.summary.Took.Round(time.Millisecond).Seconds()}
	if tried.failure == nil { // the waves of other runs are no measure
		out.Status, out.Times.ByWave = history.Deployed, track.WaveTimes(c.revision.Plan, tried.summary, c.stored.LastTimes().ByWave)
	}
	return c.history.End(ctx, c.number, out)
}

// planned returns the intended effects of the run on objects found like this, after the runs
// of these entries. An object that could not be read counts as adopted, unless one of them
// created it.
func planned(existing []applyevent.Existing, entries []history.Entry, objects map[object.ID]*unstructured.Unstructured) history.Record {
	var out history.Record
	undeployed := history.Undeployed(entries)
	created := sync.OnceValue(func() map[object.ID]history.Created { return createdBy(entries) }) // few ask
	for id, manifest := range objects {
		if write.MayRecreate(manifest) {
			out.Recreated = append(out.Recreated, id)
		}
	}
	carried := maps.Clone(undeployed.ByID)
	for _, e := range existing {
		delete(carried, e.ID)
		adopted := history.Adopted{ID: e.ID, UID: e.Former.UID, Set: e.Former.Set, Managers: e.Former.Managers}
		switch before, again := undeployed.Of(e.ID); {
		case e.Absent:
			out.Created = append(out.Created, history.Created{ID: e.ID})
		case e.Member && again:
			before.Carried = false
			out.Adopted = append(out.Adopted, before)
		case e.Adopted:
			out.Adopted = append(out.Adopted, adopted)
		case !e.Known && !isCreated(created(), e.ID):
			out.Adopted = append(out.Adopted, history.Adopted{ID: e.ID})
		}
	}
	for _, a := range carried {
		a.Carried = true
		out.Adopted = append(out.Adopted, a)
	}
	out.AdoptedMore = undeployed.More
	return out.Sorted()
}

// outcome returns the effects of the run, compared with its intent.
func (c *record) outcome(tried attempt) history.Record {
	intended := c.revision.Record
	out := history.Record{Operation: intended.Operation, AdoptedMore: intended.AdoptedMore}
	results := make(map[object.ID]*applyevent.Result, len(tried.summary.Results))
	for i := range tried.summary.Results {
		r := &tried.summary.Results[i]
		if results[r.ID] != nil || isRemoval(r) {
			continue
		}
		results[r.ID] = r
		switch sent := !r.Sent.IsZero(); {
		case r.Created != "":
			out.Created = append(out.Created, history.Created{ID: r.ID, UID: r.Created})
		case sent && r.Absent && r.Applied.IsZero():
			out.Created = append(out.Created, history.Created{ID: r.ID})
		case sent && r.Absent: // another client created it in the meantime
			out.Adopted = append(out.Adopted, history.Adopted{ID: r.ID})
		}
		if r.Recreated {
			out.Recreated = append(out.Recreated, r.ID)
		}
	}
	undeployed := history.Undeployed(c.entries())
	for _, a := range intended.Adopted {
		r := results[a.ID]
		_, before := undeployed.Of(a.ID)
		if r != nil && r.Member && a.UID == "" && !before {
			continue // it was not read before the run began, and was a member
		}
		written := r != nil && (r.Member || !r.Sent.IsZero() && r.Created == "")
		if (a.Carried || written) && !slices.Contains(c.released, a.ID) {
			out.Adopted = append(out.Adopted, a)
		}
	}
	for _, h := range tried.summary.Hooks {
		out.Hooks = append(out.Hooks, history.HookOutcome{Event: hook.Event(h.Hook), ID: h.ID, Outcome: string(h.State)})
	}
	return out.Sorted()
}

// isRemoval reports whether a result is of a deletion after the apply.
func isRemoval(r *applyevent.Result) bool {
	return slices.Contains([]applyevent.State{applyevent.Deleted, applyevent.Kept, applyevent.Deleting}, r.State)
}

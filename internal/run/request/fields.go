package request

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
)

// apply sends a PATCH. Fields in conflict whose values stay the same are taken: the PATCH is
// then sent again with force, for the object to which that applies. Otherwise the error has
// only the fields whose values differ.
func (s Sender) apply(ctx context.Context, q Request, sent *unstructured.Unstructured) (Answer, error) {
	live, err := write.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
	if s.keepsLabels(ctx, q, sent, err) {
		live, err = write.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
	}
	if err == nil || q.Options.Force || !fault.IsFieldConflict(err) {
		return Answer{Live: live}, err
	}
	before, after, unread := s.forcedDryRun(ctx, q, sent)
	if unread != nil {
		return Answer{}, err
	}
	agreeing, rest := write.Disagreeing(err, before, after)
	if rest != nil {
		return Answer{}, rest
	}
	if q.Options.DryRun {
		return Answer{Live: after, Agreeing: agreeing}, nil
	}
	sent.SetUID(before.GetUID())
	sent.SetResourceVersion(before.GetResourceVersion())
	forced := q.Options
	forced.Force = true
	live, err = write.Apply(ctx, s.Cluster, q.Kind, sent, forced)
	return Answer{Live: live, Agreeing: agreeing}, err
}

// keepsLabels adds to a body that was refused the labels of kapp that a workload keeps, and
// reports whether there are any.
func (s Sender) keepsLabels(ctx context.Context, q Request, sent *unstructured.Unstructured, refusal error) bool {
	if !fault.IsFieldConflict(refusal) && !apierrors.IsInvalid(refusal) {
		return false
	}
	live, err := s.get(ctx, q)
	return err == nil && write.KeepKappLabels(sent, live)
}

// forcedDryRun returns the live object, and the result of a forced PATCH.
func (s Sender) forcedDryRun(ctx context.Context, q Request, sent *unstructured.Unstructured) (before, after *unstructured.Unstructured, err error) {
	if before, err = s.get(ctx, q); err != nil {
		return nil, nil, err
	}
	trial, options := sent.DeepCopy(), q.Options
	trial.SetUID(before.GetUID())
	trial.SetResourceVersion(before.GetResourceVersion())
	options.Force, options.DryRun = true, true
	after, err = write.Apply(ctx, s.Cluster, q.Kind, trial, options)
	return before, after, err
}

// Refusal returns the error of a dry run of a PATCH as the run sends it: with force, if the run
// may take all fields in conflict. former are the FormerSetManagers of the object.
func (s Sender) Refusal(ctx context.Context, q Request, former []string) error {
	q.Op, q.Options.DryRun = Patch, true
	_, err := s.Send(ctx, q)
	if fault.IsFieldConflict(err) && (s.Owner.MayTake(err, former) || s.Owner.ConflictsOnlyWithPlaceholder(err)) {
		q.Options.Force = true
		_, err = s.Send(ctx, q)
	}
	return err
}

// takeoverAttempts bounds how often a takeover is tried when others write the object.
const takeoverAttempts = 3

// migrate takes over the fields of other managers. A dry run finds the conflicts of the PATCH
// with them before: after the takeover there are none.
func (s Sender) migrate(ctx context.Context, q Request) (Answer, error) {
	live, err := q.Seen, error(nil)
	unchecked := q.BeforePatch
	for attempt := 1; ; attempt++ {
		if live == nil {
			if live, err = s.get(ctx, q); err != nil {
				return Answer{}, ignoreMissing(err)
			}
		}
		migration := s.Owner.Takeover(live).Of(live, q.Bodies.LeftToOthers(q.Object))
		if unchecked && s.mayBeRefused(q, live, migration) {
			if err := s.conflicts(ctx, q, s.Owner.FormerSetManagers(live)); err != nil {
				return Answer{}, err
			}
			unchecked = false
		}
		err = s.Cluster.Migrate(ctx, q.Kind, live, migration, q.Options.Manager)
		if err == nil {
			return Answer{TakenFrom: migration.Managers}, nil
		}
		if !apierrors.IsConflict(err) || attempt == takeoverAttempts {
			return Answer{}, err
		}
		live = nil
	}
}

// mayBeRefused reports whether the PATCH after a takeover may be refused although it was not
// changed by another client meanwhile. If so, fields of another tool would stay taken over. A
// body that depends on the live object is judged only by the whole object.
func (s Sender) mayBeRefused(q Request, live *unstructured.Unstructured, migration applyset.OwnershipMigration) bool {
	if len(migration.Managers) > 0 || q.Bodies.DependsOnLive(q.Object) && !write.HasBody(live) {
		return true
	}
	body, err := q.Bodies.BodyFor(q.Object, live, s.Owner)
	return err != nil || s.Owner.MayConflict(live, body) || s.Owner.MayChangeFixed(live, body)
}

func ignoreMissing(err error) error {
	if fault.IsMissing(err) {
		return nil
	}
	return err
}

// conflicts returns the error of a PATCH that the API server would refuse although the run
// takes over the fields of some managers, such as the former ones. It may refuse an object as
// invalid that is valid without their fields.
func (s Sender) conflicts(ctx context.Context, q Request, former []string) error {
	sent, err := s.body(ctx, q)
	if err != nil {
		return err
	}
	q.Options.DryRun = true
	_, err = s.apply(ctx, q, sent)
	if s.Owner.MayTake(err, former) || apierrors.IsInvalid(err) && len(write.ImmutableFields(err)) == 0 {
		return nil
	}
	return err
}

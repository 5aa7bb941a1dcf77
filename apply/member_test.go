package apply_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// labelConflict is the API server's error when a member would move to another
// set.
func labelConflict(manager string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 409, Reason: metav1.StatusReasonConflict, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{
			Type: metav1.CauseTypeFieldManagerConflict, Field: ".metadata.labels." + applyset.PartOfLabel, Message: `conflict with "` + manager + `" using v1`,
		}},
	}}}
}

// Membership moves only on request, whatever may be read, and whichever tool
// manages the other set.
func TestMembershipDoesNotMove(t *testing.T) {
	own := applyset.Membership{Set: "applyset-mine-v1"}
	never := applyset.Membership{Set: "applyset-mine-v1", Adopt: applyset.AdoptNever}
	theirs := func(live *unstructured.Unstructured) {
		live.SetLabels(map[string]string{applyset.PartOfLabel: "applyset-theirs-v1"})
	}
	for name, c := range map[string]struct {
		membership applyset.Membership
		there      func(*unstructured.Unstructured) // nil: it does not exist
		list, get  bool                             // allowed
		conflict   string                           // the manager that owns the label
		patches    int
		fails      string
	}{
		"of another set, no list":                     {own, theirs, false, true, "", 0, "it is a member of another apply set"},
		"of another set, no list, no get":             {own, theirs, false, false, "kubectl-client-side-apply", 1, "it is a member of another apply set"},
		"of another set, no records, nothing read":    {own, theirs, false, false, applyset.BeforeFirstApply, 1, "it is a member of another apply set"},
		"of another set since it was read":            {own, nil, true, true, "kubectl-client-side-apply", 1, "it is a member of another apply set"},
		"of none, never, no list":                     {never, func(*unstructured.Unstructured) {}, false, true, "", 0, "--adopt=never does not adopt it"},
		"of none, never, no list, no get":             {never, func(*unstructured.Unstructured) {}, false, false, "", 0, "it cannot be read, so it may exist already"},
		"there is none, never, no list":               {never, nil, false, true, "", 1, ""},
		"of none, no list":                            {own, func(*unstructured.Unstructured) {}, false, true, "", 1, ""},
		"of none, no list, no get":                    {own, func(*unstructured.Unstructured) {}, false, false, "", 1, ""},
		"of another set, without a set, with no list": {applyset.Membership{}, theirs, false, true, "", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newControlled()
				if c.there != nil {
					live := memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true)
					c.there(live)
					cluster.Put(live)
				}
				if !c.list {
					cluster.Refuse = memcluster.Forbids("list")
				}
				if !c.get {
					cluster.Refuse = memcluster.Forbids("list", "get")
				}
				if c.conflict != "" {
					cluster.RefusePatch = func(obj *unstructured.Unstructured) error {
						if obj.GetName() == "b" {
							return labelConflict(c.conflict)
						}
						return nil
					}
				}
				for _, force := range []bool{false, true} {
					_, err := cluster.run(t, apply.Applier{Manager: "ordapply:mine", Membership: c.membership, ForceConflicts: applyset.Force{All: force}, NoDiagnosis: true}, plainPod("b"))
					require.Equal(t, c.patches, cluster.Patched["b"])
					if c.fails == "" {
						require.NoError(t, err)
						return
					}
					require.ErrorContains(t, err, c.fails)
				}
			})
		})
	}
}

// With --adopt=never no object is adopted that was created during the run.
func TestAnObjectCreatedDuringTheRunIsNotAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.slowly(func() {
			cluster.Mu.Lock()
			defer cluster.Mu.Unlock()
			cluster.Put(memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true))
		})
		a := apply.Applier{Manager: "ordapply:mine", Membership: applyset.Membership{Set: "applyset-mine-v1", Adopt: applyset.AdoptNever}, NoDiagnosis: true}
		_, err := cluster.run(t, a, shopNamespace(), testPod("a", 0, ""), testPod("b", 1, ""))
		require.ErrorContains(t, err, "--adopt=never does not adopt it")
		require.Zero(t, cluster.Patched["b"])
	})
}

// Fields of the API server's placeholder manager, whose real owner is
// unknown, are taken over: with --adopt=any the membership of another set
// too.
func TestConflictsWithWhatWasThereBefore(t *testing.T) {
	for field, adopt := range map[string]applyset.Adopt{".spec.image": applyset.AdoptUnowned, ".metadata.labels." + applyset.PartOfLabel: applyset.AdoptAny} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newControlled()
			cluster.RefusePatch = func(*unstructured.Unstructured) error {
				if cluster.Patched["b"] > 1 {
					return nil
				}
				conflict, _ := errors.AsType[*apierrors.StatusError](labelConflict(applyset.BeforeFirstApply))
				conflict.ErrStatus.Details.Causes[0].Field = field
				return conflict
			}
			a := apply.Applier{Manager: "ordapply:mine", Membership: applyset.Membership{Set: "applyset-mine-v1", Adopt: adopt}}
			cluster.mustRun(t, a, plainPod("b"))
			require.Equal(t, 2, cluster.Patched["b"])
		})
	}
}

// An object is deleted and created again only if it is proven to be ours and
// unprotected at that moment.
func TestRecreateKeepsForeignAndProtectedObjects(t *testing.T) {
	immutable := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.image", Message: "field is immutable"}},
	}}}
	for name, c := range map[string]struct {
		meanwhile func(*unstructured.Unstructured)
		fails     string
	}{
		"ours": {func(*unstructured.Unstructured) {}, ""},
		"protected": {func(live *unstructured.Unstructured) {
			live.SetAnnotations(map[string]string{"ordapply.dev/lifecycle": "keep"})
		}, "protects it"},
		"made by another": {func(live *unstructured.Unstructured) {
			live.SetUID("another")
			unstructured.RemoveNestedField(live.Object, "metadata", "managedFields")
		}, "because field manager ordapply never applied it"},
		"of another set now": {func(live *unstructured.Unstructured) {
			live.SetLabels(map[string]string{applyset.PartOfLabel: "applyset-theirs-v1"})
		}, "because field manager ordapply never applied it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newControlled()
				author := annotated(imaged(plainPod("b"), "old"), "ordapply.dev/on-immutable", "recreate")
				cluster.mustRun(t, apply.Applier{}, author)
				cluster.RefusePatch = func(*unstructured.Unstructured) error {
					if len(cluster.Deleted()) == 0 {
						time.Sleep(time.Second)
						cluster.Edit(pod("b"), c.meanwhile)
						return immutable
					}
					return nil
				}
				author = annotated(imaged(plainPod("b"), "new"), "ordapply.dev/on-immutable", "recreate")
				plan, stream := planOf(t, author)
				cluster.ResetRequests()
				ended := make(chan error, 1)
				go func() {
					_, err := apply.Applier{Cluster: cluster, NoDiagnosis: true}.Run(t.Context(), plan, stream.Objects)
					ended <- err
				}()
				time.Sleep(10 * time.Second)
				if c.fails != "" {
					require.ErrorContains(t, <-ended, c.fails)
					require.Empty(t, cluster.Deleted())
					return
				}
				require.Equal(t, []string{"b"}, cluster.Deleted())
				gone := memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true)
				cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{gone}})
				require.NoError(t, <-ended)
			})
		})
	}
}

package apply_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// immutableImage is the API server's answer to a PATCH that changes an immutable field, with
// other errors beside it.
func immutableImage(others ...*field.Error) error {
	all := append(field.ErrorList{field.Invalid(field.NewPath("spec", "image"), "new", "field is immutable")}, others...)
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "b", all)
}

// recreation is a run that changes an immutable field of Pod b, which it may recreate.
type recreation struct {
	cluster *controlled
	applier apply.Applier
	ended   chan error
	summary event.Summary
}

// startRecreation applies Pod b, and then begins a run that changes it. refuse answers its
// PATCHes: n is the number of earlier ones.
func startRecreation(t *testing.T, ctx context.Context, a apply.Applier, prepare func(*controlled), refuse func(n int, deleted bool) error) *recreation {
	t.Helper()
	r := &recreation{cluster: newControlled(), applier: a, ended: make(chan error, 1)}
	r.cluster.mustRun(t, apply.Applier{}, annotated(imaged(plainPod("b"), "old"), "ordapply.dev/on-immutable", "recreate"))
	n := 0
	r.cluster.RefusePatch = func(*unstructured.Unstructured) error {
		n++
		return refuse(n-1, len(r.cluster.Deleted()) > 0)
	}
	if prepare != nil {
		prepare(r.cluster)
	}
	plan, stream := planOf(t, annotated(imaged(plainPod("b"), "new"), "ordapply.dev/on-immutable", "recreate"))
	r.applier.Cluster, r.applier.NoDiagnosis = r.cluster.Controlled, true
	go func() {
		var err error
		r.summary, err = r.applier.Run(ctx, plan, stream.Objects)
		r.ended <- err
	}()
	return r
}

// gone reports the old Pod as gone.
func (r *recreation) gone() {
	r.cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true)}})
}

// onceImmutable refuses the PATCH of the old object only.
func onceImmutable(_ int, deleted bool) error {
	if deleted {
		return nil
	}
	return immutableImage()
}

// An object is not deleted to recreate it when the API server's answer names another error
// beside the immutable field, or would reject the new object, or says "immutable" without
// meaning it.
func TestNothingIsDeletedThatCannotBeCreatedAgain(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "b", errors.New("admission webhook \"w\" denied the request: no"))
	for name, c := range map[string]struct {
		prepare func(*controlled)
		refusal error
		fails   string
	}{
		"another cause": {nil, immutableImage(field.Invalid(field.NewPath("spec", "ports"), -1, "must be positive")), "must be positive"},
		"the new one is refused": {func(c *controlled) {
			c.Refuse = func(verb string, _ kube.Kind, _, _ string) error {
				if verb == "create" {
					return denied
				}
				return nil
			}
		}, immutableImage(), "the live object is not recreated, because the API server would reject the new one: .*denied the request: no"},
		"the value says so": {nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "b", field.ErrorList{
			field.Invalid(field.NewPath("spec", "mode"), "field is immutable", "must be one of a, b"),
		}), "must be one of a, b"},
		"the policy says so": {nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "denied", Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'p' denied request: spec is immutable"}},
		}}}, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := startRecreation(t, t.Context(), apply.Applier{}, c.prepare, func(int, bool) error { return c.refusal })
				err := <-r.ended
				require.Error(t, err)
				require.Regexp(t, c.fails, err.Error())
				require.Empty(t, r.cluster.Deleted())
				require.False(t, r.summary.Results[0].Recreated)
			})
		})
	}
}

// After one deletion the refusal of the new object is final, and says what happened.
func TestAnObjectIsDeletedForRecreationOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := startRecreation(t, t.Context(), apply.Applier{}, nil, func(int, bool) error { return immutableImage() })
		time.Sleep(time.Second)
		r.gone()
		require.ErrorContains(t, <-r.ended, "the old object was deleted to recreate it, and the API server rejects the new one: ")
		require.Equal(t, []string{"b"}, r.cluster.Deleted())
		require.True(t, r.summary.Results[0].Recreated)
		require.LessOrEqual(t, r.cluster.Patched["b"], 3)
		require.Less(t, time.Since(start), 5*time.Second)
	})
}

// A Service is gone a moment before its address and ports are released: the new one, which asks
// for the same, is applied when they are.
func TestARecreatedServiceAwaitsItsAddress(t *testing.T) {
	for _, taken := range []string{"failed to allocate IP 10.0.0.14: provided IP is already allocated", "provided port is already allocated"} {
		synctest.Test(t, func(t *testing.T) {
			var goneAt time.Time
			r := startRecreation(t, t.Context(), apply.Applier{}, nil, func(_ int, deleted bool) error {
				switch {
				case !deleted:
					return immutableImage()
				case time.Since(goneAt) < 5*time.Second:
					return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "b", field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), "10.0.0.14", taken)})
				}
				return nil
			})
			time.Sleep(15 * time.Second)
			goneAt = time.Now()
			r.gone()
			require.NoError(t, <-r.ended)
			require.NotNil(t, r.cluster.Now(pod("b")))
		})
	}
}

// The second half of a recreation is sent although the run was interrupted, or timed out,
// while it waited for the old object to be gone, but not when the run may no longer write.
func TestARecreationIsCompleted(t *testing.T) {
	for name, c := range map[string]struct {
		applier apply.Applier
		cause   error
		created bool
		fails   string
	}{
		"interrupted":  {apply.Applier{}, context.Canceled, true, event.ErrInterrupted.Error()},
		"wave timeout": {apply.Applier{WaveTimeout: 2 * time.Second}, nil, true, "not applied after 2s"},
		"run timeout":  {apply.Applier{Timeout: 2 * time.Second}, nil, true, ""}, // all is done in the end
		"by the graph": {apply.Applier{WaveTimeout: 2 * time.Second, Schedule: apply.Graph}, nil, true, "not applied after 2s"},
		"lost lock":    {apply.Applier{}, kube.ErrFenced, false, kube.ErrFenced.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := startRecreation(t, ctx, c.applier, nil, onceImmutable)
				time.Sleep(2100 * time.Millisecond)
				if c.cause != nil {
					cancel(c.cause)
				}
				time.Sleep(3 * time.Second)
				if c.created {
					r.gone()
				}
				if err := <-r.ended; c.fails != "" {
					require.ErrorContains(t, err, c.fails)
				}
				require.Equal(t, c.created, r.cluster.Now(pod("b")) != nil)
				require.True(t, r.summary.Results[0].Recreated)
			})
		})
	}
}

// A step whose old object outlives the run says that the new one is missing.
func TestAnIncompleteRecreationIsReported(t *testing.T) {
	for name, a := range map[string]apply.Applier{"interrupted": {}, "wave timeout": {WaveTimeout: 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				start := time.Now()
				r := startRecreation(t, ctx, a, nil, onceImmutable)
				time.Sleep(2100 * time.Millisecond)
				if a.WaveTimeout == 0 {
					cancel()
				}
				require.Error(t, <-r.ended)
				require.Less(t, time.Since(start), 13*time.Second)
				require.Contains(t, r.summary.Results[0].Detail, "its old object was deleted to recreate it, and the new one is not applied yet")
			})
		})
	}
}

// A dry run proves the recreation, says so, and deletes nothing.
func TestADryRunSaysThatAnObjectWouldBeRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startRecreation(t, t.Context(), apply.Applier{DryRun: true}, nil, func(int, bool) error { return immutableImage() })
		require.NoError(t, <-r.ended)
		require.Equal(t, event.Applied, r.summary.Results[0].State)
		require.Equal(t, "it would be deleted and created again: spec.image cannot be changed", r.summary.Results[0].Detail)
		require.Empty(t, r.cluster.Deleted())
	})
}

// The run that is undone may have recreated an object: going back may recreate it too, although
// the earlier manifest does not say so.
func TestMayRecreateWithoutTheAnnotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.mustRun(t, apply.Applier{}, imaged(plainPod("b"), "new"))
		cluster.RefusePatch = func(*unstructured.Unstructured) error { return onceImmutable(0, len(cluster.Deleted()) > 0) }
		_, err := cluster.run(t, apply.Applier{NoDiagnosis: true}, imaged(plainPod("b"), "old"))
		require.ErrorContains(t, err, "spec.image cannot be changed on a live Pod")
		_, err = cluster.run(t, apply.Applier{NoDiagnosis: true, DryRun: true, MayRecreate: map[object.ID]bool{pod("b"): true}}, imaged(plainPod("b"), "old"))
		require.NoError(t, err)
	})
}

// An object that the API server stored without the label of the set is no member: the step
// fails, in a dry run as well.
func TestAMemberThatLosesItsLabelFails(t *testing.T) {
	for name, dryRun := range map[string]bool{"apply": false, "dry run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, plainPod("b"))
				stored := memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true)
				cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("b"): {Answer: stored}}}
				a := apply.Applier{Cluster: cluster, DryRun: dryRun, Membership: applyset.Membership{Set: "applyset-shop-v1"}}
				_, err := a.Run(t.Context(), plan, stream.Objects)
				require.ErrorContains(t, err, "the API server stored it without the label applyset.kubernetes.io/part-of: applyset-shop-v1")
			})
		})
	}
}

package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// passing is a stream that is applied by one pass after the other.
type passing struct {
	t       *testing.T
	cluster *memcluster.Store
	applier apply.Applier
	plan    *ordering.Plan
	stream  *apply.Stream
}

func newPassing(t *testing.T, manifests ...map[string]any) *passing {
	plan, stream := planOf(t, manifests...)
	cluster := memcluster.New()
	cluster.TracksFields = true
	return &passing{t, cluster, apply.Applier{Cluster: cluster, OnePass: true}, plan, stream}
}

// pass runs one pass, which takes no time. It returns the writes and the outcome.
func (p *passing) pass() (writes []string, outcome map[string]string) {
	start, before := time.Now(), len(p.cluster.Log)
	summary, err := p.applier.Run(p.t.Context(), p.plan, p.stream.Objects)
	require.NoError(p.t, err)
	require.Zero(p.t, time.Since(start))
	outcome = map[string]string{}
	for _, r := range summary.Results {
		outcome[r.ID.Name] = string(r.State) + " " + string(r.Waiting)
	}
	return p.cluster.Log[before:], outcome
}

// becomeReady makes a Pod ready, as the kubelet does.
func (p *passing) becomeReady(id object.ID) {
	live := p.cluster.At("pods/" + id.Namespace + "/" + id.Name)
	kind, _ := p.cluster.Kind(live.GroupVersionKind())
	live.Object["status"] = memcluster.LiveObject(live, true).Object["status"]
	p.cluster.Add(kind, live)
}

func TestPassesApplyWaveByWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t, testPod("db", 0, ""), testPod("app", 1, ""), testPod("web", 2, ""))
		writes, outcome := p.pass()
		require.Equal(t, []string{"apply pods/db"}, writes)
		require.Equal(t, map[string]string{"db": "unsettled Readiness", "app": "not started Order", "web": "not started Order"}, outcome)

		writes, again := p.pass()
		require.Empty(t, writes, "nothing has changed")
		require.Equal(t, outcome, again)

		p.becomeReady(pod("db"))
		writes, outcome = p.pass()
		require.Equal(t, []string{"apply pods/app"}, writes)
		require.Equal(t, map[string]string{"db": "ready ", "app": "unsettled Readiness", "web": "not started Order"}, outcome)

		p.becomeReady(pod("app"))
		writes, _ = p.pass()
		require.Equal(t, []string{"apply pods/web"}, writes)

		p.becomeReady(pod("web"))
		writes, outcome = p.pass()
		require.Empty(t, writes)
		require.Equal(t, map[string]string{"db": "ready ", "app": "ready ", "web": "ready "}, outcome)
	})
}

func TestAPassDoesNotWaitForExternalDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		needy := annotated(plainPod("app"), "ordapply.dev/depends-on", "external:/namespaces/shop/Pod/db")
		p := newPassing(t, needy)
		writes, outcome := p.pass()
		require.Empty(t, writes)
		require.Equal(t, map[string]string{"app": "not started External"}, outcome)

		live := memcluster.LiveObject(p.stream.Objects[pod("app")], true)
		live.SetName("db")
		kind, _ := p.cluster.Kind(live.GroupVersionKind())
		p.cluster.Add(kind, live)
		writes, _ = p.pass()
		require.Equal(t, []string{"apply pods/app"}, writes)
	})
}

// A retry is sent by the next pass; a final failure is an error.
func TestAPassDoesNotWaitForARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t, plainPod("app"))
		answer := error(apierrors.NewTooManyRequests("slow down", 1))
		p.cluster.Refuse = func(verb string, _ kube.Kind, _, _ string) error {
			if verb == "apply" {
				return answer
			}
			return nil
		}
		_, outcome := p.pass()
		require.Equal(t, map[string]string{"app": "unsettled Retry"}, outcome)

		answer = apierrors.NewForbidden(unstructuredResource("pods"), "app", nil)
		_, err := p.applier.Run(t.Context(), p.plan, p.stream.Objects)
		require.Equal(t, event.OpApply, failureOf(t, err, pod("app")).Op)

		answer = nil
		writes, _ := p.pass()
		require.Equal(t, []string{"apply pods/app"}, writes)
	})
}

package apply_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// Whether the stream itself shows that a resource cannot be applied or the API server
// refuses it: with KeepGoing it is left out with its dependents, and all else is applied, in
// later waves and layers too.
func TestKeepGoing(t *testing.T) {
	on := func(name string, wave int, dependency string) map[string]any {
		return annotated(testPod(name, wave, ""), "ordapply.dev/depends-on", "/namespaces/shop/Pod/"+dependency)
	}
	manifests := func() []map[string]any {
		return []map[string]any{
			testPod("wrong", 0, ""), on("behind", 0, "wrong"), on("further", 1, "behind"),
			testPod("fine", 0, ""), on("on-fine", 0, "fine"), testPod("later", 1, ""),
		}
	}
	for name, keepGoing := range map[string]bool{"keep going": true, "stop": false} {
		for _, known := range []bool{true, false} {
			for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						plan, stream := planOf(t, manifests()...)
						cluster := &memcluster.Scripted{}
						if known {
							plan.Steps[plan.Positions()[pod("wrong")]].Refused = errors.New("no")
						} else {
							cluster.Scripts = map[object.ID]memcluster.Script{pod("wrong"): {Errs: []error{apierrors.NewBadRequest("no")}}}
						}
						summary, err := apply.Applier{Cluster: cluster, KeepGoing: keepGoing, Schedule: schedule}.Run(t.Context(), plan, stream.Objects)
						require.ErrorContains(t, failureOf(t, err, pod("wrong")), "no")
						ended := states(summary)
						require.Equal(t, event.Failed, ended["wrong"])
						require.Equal(t, event.Skipped, ended["behind"])
						require.Equal(t, event.Skipped, ended["further"])
						if keepGoing {
							for _, rest := range []string{"fine", "on-fine", "later"} {
								require.Equal(t, event.Ready, ended[rest], rest)
							}
							return
						}
						require.NotEqual(t, event.Ready, ended["later"])
						require.Equal(t, known, ended["fine"] == event.NotStarted, "what is known is reported before the first write")
					})
				})
			}
		}
	}
}

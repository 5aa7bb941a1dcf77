package history

import (
	"maps"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// shopSet is the set of the test.
var shopSet = object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}

// A revision that an earlier version of ordapply stored precedes the next one
// and can be rolled back to once a person trusts it, and the same stream makes no new revision.
func TestRevisionsOfAnEarlierVersionAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		h := History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}}
		old := sample(t, "argocd", samples()["argocd"])
		secrets, err := pack(shopSet, "shop", 1, old.summary(digestOf(t, old)), Record{}, storedSample(t, "argocd", formatV2))
		require.NoError(t, err)
		_, err = cluster.Create(t.Context(), kube.CoreKind("secrets"), secrets[0])
		require.NoError(t, err)
		require.NoError(t, h.End(t.Context(), 1, Outcome{Status: Deployed}))
		_, trusted, err := h.Untrusted(t.Context())
		require.NoError(t, err)
		h = vouching(h)
		maps.Copy(h.Vouchers, trusted)

		require.Equal(t, 1, begin(t, h, old), "the same content is the same revision")
		require.Equal(t, 2, carriedOut(t, h, sample(t, "stamps", samples()["stamps"]), Deployed))
		previous, err := h.RollbackTarget(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, previous.Number)
		back, err := h.ReadRollbackTarget(t.Context(), previous)
		require.NoError(t, err)
		require.Equal(t, wordless(old.Plan), wordless(back.Plan))
		require.Equal(t, 3, carriedOut(t, h, Revision{Cluster: "one", Plan: back.Plan, Resources: back.Resources, Options: back.Options, OrderFile: back.OrderFile, Rollback: 1}, Deployed))
		entries, err := h.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, entries[0].digest, entries[2].digest, "what was gone back to is known to be the same")
	})
}

// wordless returns a plan without its reasons, whose texts are the storing
// version's.
func wordless(p *ordering.Plan) *ordering.Plan {
	wordlessly(reflect.ValueOf(p))
	return p
}

func wordlessly(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			wordlessly(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			wordlessly(v.Index(i))
		}
	case reflect.Struct:
		if reason, ok := v.Interface().(ordering.Reason); ok {
			reason.Detail = ""
			v.Set(reflect.ValueOf(reason))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				wordlessly(v.Field(i))
			}
		}
	}
}

package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

func manyObjects(n int) (created []Created, adopted []Adopted) {
	for i := range n {
		id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("service-%04d", i)}
		created = append(created, Created{id, types.UID(fmt.Sprintf("%08x-77aa-4b1c-9d3e-%012x", i*2654435761, i*40503))})
		adopted = append(adopted, Adopted{ID: id, Managers: []string{"helm"}})
	}
	return created, adopted
}

// A record is read as it was written, at any size that fits an annotation.
func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	created, adopted := manyObjects(3000)
	for name, r := range map[string]Record{
		"empty": {},
		"small": {Operation: hook.Upgrade, Adopted: adopted[:2], Failure: "wave 1/1: no", Hooks: []HookOutcome{{Event: hook.PreUpgrade, ID: adopted[0].ID, Outcome: "ready"}}},
		"large": {Operation: hook.Install, Created: created, Adopted: adopted},
	} {
		t.Run(name, func(t *testing.T) {
			text := r.text()
			require.LessOrEqual(t, len(text), maxRecord)
			require.Equal(t, r, readRecord(text))
		})
	}
	for _, edited := range []string{"gzip:", "gzip:!", "{", "[]"} {
		require.Equal(t, Record{}, readRecord(edited))
	}
}

// A record is written as encoding/json would write it, with all of its fields.
func TestTextIsThatOfARecord(t *testing.T) {
	created, adopted := manyObjects(3)
	r := Record{
		Operation: hook.Upgrade, Created: created, Adopted: adopted, Recreated: []object.ID{created[0].ID}, Hooks: []HookOutcome{{Event: hook.PreUpgrade, ID: created[0].ID, Outcome: "ready"}},
		Failure: "<no>", FailedBefore: "b", HandedOver: "helm", Pruned: true, Deletion: true, Incomplete: true, AdoptedMore: true,
	}
	for i := range reflect.ValueOf(r).NumField() {
		require.False(t, reflect.ValueOf(r).Field(i).IsZero(), "the test has a value for each field")
	}
	for _, r := range []Record{{}, r} {
		want, err := json.Marshal(r)
		require.NoError(t, err)
		text, readable := r.encoded()
		require.Equal(t, string(want), text)
		require.True(t, readable)
	}
}

// Lists that do not fit are left out; a flag keeps their absence from deleting anything.
func TestRecordsFitAnAnnotation(t *testing.T) {
	created, adopted := manyObjects(200_000)
	r := readRecord(Record{Operation: hook.Install, Created: created}.text())
	require.True(t, r.Incomplete)
	r = readRecord(Record{Operation: hook.Install, Adopted: adopted}.text())
	require.True(t, r.AdoptedMore)
	a := Undeployed([]Entry{{Status: Failed, stored: stored{record: &storedRecord{text: r.text()}}}})
	_, is := a.Of(adopted[7].ID)
	require.True(t, is)
}

// An adoption counts until a revision with the object is deployed, over any number of runs.
func TestAdoptionsThatAreNotDeployed(t *testing.T) {
	x, y := object.ID{Kind: "ConfigMap", Name: "x"}, object.ID{Kind: "ConfigMap", Name: "y"}
	entry := func(n int, status Status, r Record) Entry {
		return Entry{Number: n, Status: status, stored: stored{record: &storedRecord{text: r.text()}}}
	}
	adopted := Record{Adopted: []Adopted{{ID: x, Set: "b"}}}
	carried := Record{Adopted: []Adopted{{ID: x, Set: "b", Carried: true}}}
	for name, c := range map[string]struct {
		entries []Entry
		want    bool
	}{
		"failed":                 {[]Entry{entry(1, Deployed, Record{}), entry(2, Failed, adopted)}, true},
		"killed":                 {[]Entry{entry(1, Deployed, Record{}), entry(2, Pending, adopted)}, true},
		"deployed":               {[]Entry{entry(1, Deployed, adopted)}, false},
		"deployed later":         {[]Entry{entry(1, Failed, adopted), entry(2, Deployed, adopted)}, false},
		"carried":                {[]Entry{entry(3, Deployed, carried)}, true},
		"created since":          {[]Entry{entry(1, Failed, adopted), entry(2, Deployed, Record{Created: []Created{{ID: x}}})}, false},
		"another object":         {[]Entry{entry(1, Failed, Record{Adopted: []Adopted{{ID: y}}})}, false},
		"without any, at a time": {nil, false},
	} {
		_, is := Undeployed(c.entries).Of(x)
		require.Equal(t, c.want, is, name)
	}
	since := AdoptedSince([]Entry{entry(1, Superseded, adopted), entry(2, Deployed, Record{Adopted: []Adopted{{ID: y}}})}, 1)
	_, is := since.Of(y)
	require.True(t, is)
	_, is = since.Of(x)
	require.False(t, is)
}

// A quota that leaves no room for a revision costs the oldest ones, never the deployed one.
func TestAQuotaCostsOldRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
		require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Deployed))
		require.Equal(t, 2, carriedOut(t, h, numbered(t, 2), Failed))
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "create" && len(statuses(t, h)) >= 2 {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, fmt.Errorf("exceeded quota: small"))
			}
			return nil
		}
		require.Equal(t, 3, begin(t, h, numbered(t, 3)))
		require.Equal(t, []string{"1 deployed", "3 pending"}, statuses(t, h))
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "create" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, fmt.Errorf("exceeded quota: small"))
			}
			return nil
		}
		_, err := h.Begin(t.Context(), numbered(t, 4))
		require.ErrorContains(t, err, "raise the quota, or delete other Secrets")
		require.Equal(t, []string{"1 deployed"}, statuses(t, h))
	})
}

// A damaged revision does not keep the others from giving the order.
func TestADamagedRevisionGivesNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
		require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Deployed))
		require.Equal(t, 2, carriedOut(t, h, numbered(t, 2), Deployed))
		delete(cluster.Objects["secrets/shop/ordapply.shop.v2"].Object, "data")
		missing := map[object.ID]*unstructured.Unstructured{{Kind: "Secret", Namespace: "shop", Name: "db"}: nil}
		past, notes, err := h.Containing(t.Context(), missing)
		require.NoError(t, err)
		require.NotEmpty(t, past.Resources)
		require.Len(t, notes, 1)
		require.True(t, strings.HasPrefix(notes[0], "the order does not follow revision 2: "), notes[0])
	})
}

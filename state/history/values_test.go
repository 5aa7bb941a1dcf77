package history

import (
	"encoding/base64"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// withSecrets returns a revision with a Secret of this value in the namespace of the history
// and in another one.
func withSecrets(t *testing.T, value string) Revision {
	t.Helper()
	var resources []ordering.Resource
	for _, namespace := range []string{"shop", "vault"} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": namespace},
			"data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(value))},
		}}
		resources = append(resources, ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object})
	}
	return revisionOf(t, resources, ordering.Options{})
}

// deployed stores a revision whose run succeeds.
func deployed(t *testing.T, h *History, r Revision) int {
	t.Helper()
	n, err := h.Begin(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, h.End(t.Context(), n, Outcome{Status: Deployed, Stream: r}))
	return n
}

// contentsIn returns everything that a namespace stores of revisions, decompressed.
func contentsIn(t *testing.T, cluster *memcluster.Store, namespace string) string {
	t.Helper()
	out := ""
	for _, obj := range cluster.Objects {
		if obj.GetNamespace() != namespace {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		for _, text := range data {
			packed, err := base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
			if plain, err := unzip(packed, 1<<20); err == nil {
				out += string(plain)
			}
		}
	}
	return out
}

func passwordOf(t *testing.T, r *Revision, namespace string) string {
	t.Helper()
	for _, resource := range r.Resources {
		if resource.ID.Namespace == namespace {
			text, _, _ := unstructured.NestedString(resource.Object, "data", "password")
			value, err := base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
			return string(value)
		}
	}
	t.Fatal("no Secret in " + namespace)
	return ""
}

// inBase64 is a value as a revision contains it.
func inBase64(value string) string { return base64.StdEncoding.EncodeToString([]byte(value)) }

// The values of a Secret stay in its namespace, a rollback has them, and they are gone with
// their revision.
func TestValuesStayInTheirNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}, Limit: 2})
		deployed(t, &h, withSecrets(t, "first-password"))
		deployed(t, &h, withSecrets(t, "second-password"))
		require.Contains(t, contentsIn(t, cluster, "shop"), inBase64("first-password"), "that of its own namespace")
		require.Contains(t, contentsIn(t, cluster, "vault"), inBase64("first-password"))

		target, err := h.RollbackTarget(t.Context())
		require.NoError(t, err)
		r, err := h.ReadRollbackTarget(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, "first-password", passwordOf(t, r, "vault"))
		require.Equal(t, "first-password", passwordOf(t, r, "shop"))
		require.Empty(t, r.Plan.Notes)

		deployed(t, &h, withSecrets(t, "third-password"))
		require.NotContains(t, contentsIn(t, cluster, "vault"), inBase64("first-password"), "rotation forgets it")
		require.Contains(t, contentsIn(t, cluster, "vault"), inBase64("second-password"))
		_, err = h.Drop(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, contentsIn(t, cluster, "vault"))
	})
}

// In the namespace of the history nothing of another namespace's Secret is readable.
func TestNoValueOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
		r := withSecrets(t, "top-secret-word")
		r.Resources = r.Resources[1:]
		r = revisionOf(t, r.Resources, ordering.Options{})
		require.Equal(t, "for a rollback, values of Secrets are kept in their own namespaces, in Secret vault/"+ValuesName(shopSet)+"; --history-secrets=none keeps none", h.KeepingNote(r))
		deployed(t, &h, r)
		require.NotContains(t, contentsIn(t, cluster, "shop"), inBase64("top-secret-word"))
		require.Contains(t, r.Resources[0].Object, "data", "the stream is not changed")
	})
}

// Without values, and with values that were changed, a rollback leaves the Secret as it is.
func TestARollbackWithoutValues(t *testing.T) {
	changes := map[string]func(*History, *memcluster.Store){
		"was stored without values of Secrets": func(h *History, _ *memcluster.Store) { h.Keep = KeepNone },
		"does not keep the values":             func(_ *History, s *memcluster.Store) { s.Drop("secrets/vault/" + ValuesName(shopSet)) },
		"were changed": func(_ *History, s *memcluster.Store) {
			obj := s.At("secrets/vault/" + ValuesName(shopSet)).DeepCopy()
			obj.Object["data"] = map[string]any{"v1": inBase64("something else")}
			s.Add(kube.CoreKind("secrets"), obj)
		},
	}
	for why, change := range changes {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
			if why == "was stored without values of Secrets" {
				change(&h, cluster)
			}
			deployed(t, &h, withSecrets(t, "first-password"))
			deployed(t, &h, withSecrets(t, "second-password"))
			change(&h, cluster)
			target, err := h.RollbackTarget(t.Context())
			require.NoError(t, err)
			r, err := h.ReadRollbackTarget(t.Context(), target)
			require.NoError(t, err)
			require.Contains(t, r.Plan.Notes[len(r.Plan.Notes)-1], "Secret vault/db keeps its present values, because ")
			require.Contains(t, r.Plan.Notes[len(r.Plan.Notes)-1], why)
			for _, resource := range r.Resources {
				policy, _ := applyset.PolicyOf(&unstructured.Unstructured{Object: resource.Object}, nil)
				wanted := applyset.Apply
				if resource.ID.Namespace == "vault" || h.Keep == KeepNone {
					wanted = applyset.MustExist
				}
				require.Equal(t, wanted, policy, resource.ID)
			}
			if h.Keep == KeepNone {
				require.NotContains(t, contentsIn(t, cluster, "shop")+contentsIn(t, cluster, "vault"), inBase64("first-password"))
			}
		})
	}
}

// Another owner's Secret of the same name is neither changed nor deleted.
func TestASecretOfSomebodyElseIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"v1": inBase64("theirs")}}}
		theirs.SetNamespace("vault")
		theirs.SetName(ValuesName(shopSet))
		cluster.Add(kube.CoreKind("secrets"), theirs)
		var notes []string
		h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}, OnNote: func(text string) { notes = append(notes, text) }})
		deployed(t, &h, withSecrets(t, "first-password"))
		require.Len(t, notes, 1)
		require.Contains(t, notes[0], "exists and keeps no values of this set")
		_, err := h.Drop(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, theirs.Object["data"], cluster.At("secrets/vault/" + ValuesName(shopSet)).Object["data"])
	})
}

package redact

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Within a preview the same value has the same mask, wherever it is
// and in any encoding, and other values have others; the next preview uses
// new ones.
func TestMasksRevealOnlyEquality(t *testing.T) {
	applied, err := json.Marshal(map[string]any{"kind": "Secret", "stringData": map[string]any{"password": "hunter2", "pin": 7}})
	require.NoError(t, err)
	live := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": string(applied),
			"note":   "it was hunter2, which is aHVudGVyMg==",
			"broken": `{"data": {"pin": "ab"`,
		}},
		"data": map[string]any{"password": "aHVudGVyMg==", "same": "c2FtZQ==", "old": "eA=="},
	}
	merged := map[string]any{"data": map[string]any{"password": "aHVudGVyMw==", "same": "c2FtZQ=="}, "stringData": "hunter2"}
	seen := map[string]bool{}
	for range 2 {
		m, err := NewMasker()
		require.NoError(t, err)
		before, after := (&unstructured.Unstructured{Object: live}).DeepCopy(), (&unstructured.Unstructured{Object: merged}).DeepCopy()
		m.Mask(before, nil, after)
		was, is := before.Object["data"].(map[string]any), after.Object["data"].(map[string]any)
		require.Equal(t, was["same"], is["same"])
		require.NotEqual(t, was["password"], is["password"])
		require.Equal(t, was["password"], after.Object["stringData"])
		require.Equal(t, fmt.Sprintf("it was %[1]s, which is %[1]s", was["password"]), before.GetAnnotations()["note"])
		for _, obj := range []*unstructured.Unstructured{before, after} {
			text, err := obj.MarshalJSON()
			require.NoError(t, err)
			for _, value := range []string{"hunter", "aHVudGVy", "c2FtZQ", `"ab"`, "eA==", ":7"} {
				require.NotContains(t, string(text), value)
			}
		}
		require.False(t, seen[fmt.Sprint(was["same"])], "a mask was used twice")
		seen[fmt.Sprint(was["same"])] = true
	}
}

// Two values never have the same mask, even if the first digits of
// their hashes are equal.
func TestMasksOfManyValuesDiffer(t *testing.T) {
	m, err := NewMasker()
	require.NoError(t, err)
	words := map[string]bool{}
	for i := range 20000 {
		words[m.mask(fmt.Sprint("value ", i))] = true
	}
	require.Len(t, words, 20000)
}

// What a Masker wrote is found again in a Secret, and nothing else is.
func TestFindMask(t *testing.T) {
	masker, err := NewMasker()
	require.NoError(t, err)
	secret := func(field, value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", field: map[string]any{"password": value}}}
	}
	for _, field := range []string{"data", "stringData"} {
		shown := secret(field, "aHVudGVyMg==")
		_, _, found := FindMask(shown)
		require.False(t, found)
		masker.Mask(shown)
		path, mask, found := FindMask(shown)
		require.True(t, found)
		require.Equal(t, field+".password", path)
		require.Regexp(t, `^\(hidden [0-9a-f]+\)$`, mask)
	}
	for _, value := range []string{"(hidden)", "it is (hidden 1f4c2a)", "(hidden words)"} {
		_, _, found := FindMask(secret("stringData", value))
		require.False(t, found, value)
	}
}

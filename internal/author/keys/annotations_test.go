package keys_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/object"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"misspelt key":              {"ordapply.dev/lifecyle", "keep", "unknown annotation ordapply.dev/lifecyle; did you mean ordapply.dev/lifecycle?"},
		"missing dash":              {"ordapply.dev/dependson", "/Secret/a", "unknown annotation ordapply.dev/dependson; did you mean ordapply.dev/depends-on?"},
		"missing letter":            {"ordapply.dev/ready-wen", "true", "unknown annotation ordapply.dev/ready-wen; did you mean ordapply.dev/ready-when?"},
		"twisted letters":           {"ordapply.dev/on-immutabel", "recreate", "unknown annotation ordapply.dev/on-immutabel; did you mean ordapply.dev/on-immutable?"},
		"nothing near":              {"ordapply.dev/colour", "red", "unknown annotation ordapply.dev/colour"},
		"another's key":             {"example.com/lifecyle", "keep", ""},
		"a stamp":                   {"ordapply.dev/layer-timeout", "1m0s", ""},
		"what ordapply writes":      {"ordapply.dev/applied", "v1", ""},
		"wait":                      {"ordapply.dev/wait", "nope", `annotation ordapply.dev/wait: "nope": write none, applied or ready`},
		"lifecycle":                 {"ordapply.dev/lifecycle", "kept", `annotation ordapply.dev/lifecycle: "kept": write keep`},
		"timeout":                   {"ordapply.dev/timeout", "5 minutes", `annotation ordapply.dev/timeout: "5 minutes" is not a duration such as 90s`},
		"a Helm timeout":            {"helm.sh/readiness-timeout", "soon", `annotation helm.sh/readiness-timeout: "soon" is not a duration such as 90s`},
		"ready-when":                {"ordapply.dev/ready-when", "self.status.ready == ", "annotation ordapply.dev/ready-when: "},
		"ready-when that is fine":   {"ordapply.dev/ready-when", "self.status.ready == true", ""},
		"one readiness alone":       {"helm.sh/readiness-success", "succeeded==1", "annotation helm.sh/readiness-success has no effect without helm.sh/readiness-failure (HIP-0025): add it"},
		"depends-on":                {"ordapply.dev/depends-on", "Secret a", "annotation ordapply.dev/depends-on: "},
		"provides":                  {"ordapply.dev/provides", "Widget", "annotation ordapply.dev/provides: "},
		"unmatched that is no true": {"ordapply.dev/unmatched", "yes", `annotation ordapply.dev/unmatched: "yes": write true`},
	} {
		t.Run(name, func(t *testing.T) {
			found := keys.Check([]object.Meta{{Annotations: map[string]string{c.key: c.value}}})
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.True(t, strings.HasPrefix(found[0].Message, c.want), found[0].Message)
		})
	}
}

// A key without effect on hooks is a remark, once for all of them.
func TestCheckHooks(t *testing.T) {
	hook := object.Meta{Annotations: map[string]string{"ordapply.dev/wait": "none", "ordapply.dev/timeout": "5m", "config.kubernetes.io/depends-on": "", "ordapply.dev/ready-when": "true"}}
	found := keys.CheckHooks([]object.Meta{hook, hook})
	require.Len(t, found, 2)
	require.Equal(t, "annotation config.kubernetes.io/depends-on has no effect on a hook: hooks run in the order of helm.sh/hook-weight", found[0].Message)
	require.Equal(t, []int{0, 1}, found[1].On)
	for _, f := range found {
		require.True(t, f.Remark)
	}
}

// Both notations of a Helm condition are valid: the proposal's text has one,
// its example the other.
func TestHelmConditions(t *testing.T) {
	for _, success := range []string{"succeeded==1", "{.succeeded} == 1", `["{.succeeded} == 1", "ready==true"]`, "{$.succeeded} == 1", "$.succeeded==1", `{.message} == ""`} {
		require.Empty(t, keys.Check([]object.Meta{{Annotations: map[string]string{"helm.sh/readiness-success": success, "helm.sh/readiness-failure": "failed>=1"}}}), success)
	}
	found := keys.Check([]object.Meta{{Annotations: map[string]string{"helm.sh/readiness-success": "{.a[?(}==1", "helm.sh/readiness-failure": "failed"}}})
	require.Len(t, found, 2)
	// Conditions that can never hold are errors; there may be nothing that means failure.
	for success, want := range map[string]string{"[]": "an empty list never holds", "succeeded==": "write a value after =="} {
		found := keys.Check([]object.Meta{{Annotations: map[string]string{"helm.sh/readiness-success": success, "helm.sh/readiness-failure": "[]"}}})
		require.Len(t, found, 1, success)
		require.Contains(t, found[0].Message, want)
	}
}

// The same error on many resources is one result that names some of them.
func TestGrouped(t *testing.T) {
	var metas []object.Meta
	for i := range 7 {
		metas = append(metas, object.Meta{ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Annotations: map[string]string{"ordapply.dev/lifecyle": "keep"}})
	}
	metas[6].Labels = map[string]string{"ordapply.dev/wait": "none"}
	found := keys.Check(metas)
	require.Len(t, found, 2)
	require.Equal(t, "; also on ConfigMap c1, ConfigMap c2, ConfigMap c3, 3 more", found[0].Others(metas))
	require.Equal(t, "label ordapply.dev/wait has no effect: write it under annotations", found[1].Message)
}

// A key that nearly protects a resource counts as protecting it.
func TestProtects(t *testing.T) {
	for key, want := range map[string]bool{
		"ordapply.dev/lifecycle": true, "ordapply.dev/lifecyle": true, "ordapply.dev/life-cycle": true,
		"ordapply.dev/ready-wen": false, "ordapply.dev/wait": false, "ordapply.dev/colour": false,
	} {
		annotated := keys.Check([]object.Meta{{Annotations: map[string]string{key: "kept"}}})
		require.Len(t, annotated, 1, key)
		require.Equal(t, want, annotated[0].Protects, key)
		labelled := keys.Check([]object.Meta{{Labels: map[string]string{key: "keep"}}})
		require.Len(t, labelled, 1, key)
		require.Equal(t, want, labelled[0].Protects, key)
	}
}

// Every key in the source code of this module's programs is known.
func TestKeysOfTheSource(t *testing.T) {
	key := regexp.MustCompile(`"(ordapply\.dev/[a-z-]{2,})"`)
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range key.FindAllStringSubmatch(string(text), -1) {
			seen++
			asAnnotation := keys.Check([]object.Meta{{Annotations: map[string]string{match[1]: ""}}})
			asLabel := keys.Check([]object.Meta{{Labels: map[string]string{match[1]: ""}}})
			require.False(t, isUnknown(asAnnotation) && isUnknown(asLabel), "%s: %s is not in the table of keys", path, match[1])
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, seen, 10)
}

func isUnknown(found []keys.Found) bool {
	return len(found) > 0 && strings.HasPrefix(found[0].Message, "unknown ")
}

package keys

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a key's row in docs/annotations.md: the form of its value, and its meaning, for keys
// in manifests with a link to the page with more.
type row struct{ value, meaning string }

// rows describes every annotation and label.
func rows() map[string]row {
	return map[string]row{
		"depends-on":    {"`group/namespaces/NAMESPACE/Kind/name, …`", "[the resources that must be ready first](ordering.md#edges)"},
		"failed-when":   {"a CEL condition over `self`", "[the resource has failed when it holds](health.md#rules-on-an-object)"},
		"ignore-fields": {"paths such as `spec.replicas, …`", "[fields that are left to other field managers once these own them](apply.md#fields-that-others-may-change)"},
		"lifecycle":     {"`keep`", "[neither prune nor delete removes the resource](state.md#what-is-pruned)"},
		"on-immutable":  {"`recreate`", "[the resource may be deleted and created again to change an immutable field](apply.md#recreating-an-object)"},
		"ordering":      {"`true` or `false`, for the whole stream", "[`false`: only declared dependencies define the order](ordering.md#turning-ordering-off)"},
		"prerequisites": {"`true` or `false`, for the whole stream", "[`false`: CRDs and Namespaces get no wave of their own](ordering.md#turning-ordering-off)"},
		"provides":      {"`group/Kind, …`", "[kinds that exist once the resource is ready](ordering.md#edges)"},
		"ready-when":    {"a CEL condition over `self`", "[the resource is ready when it holds](health.md#rules-on-an-object)"},
		"timeout":       {"a duration such as `90s`", "[how long the resource may take to become ready](apply.md#annotations)"},
		"wait":          {"`none`, `applied` or `ready`", "[what later waves wait for](apply.md#annotations)"},

		"emitted":       {"names of tools", "the tools whose annotations [emit](emit.md) wrote, which are not read as declarations"},
		"gate":          {"`applied`", "later layers wait until this one is applied, not ready"},
		"layer":         {"`order/layer`", "the layer of the resource"},
		"layer-needs":   {"`order/layer, …`", "with `layers`, or if the rest is not last: every layer before this one; absent: all layers of the order with a lower wave"},
		"layer-timeout": {"a duration", "how long the layer may take"},
		"unmatched":     {"`true` or `placed`", "no selector matches the resource; `placed`: the order lists `unmatched: true`, or has an entry of `layers` for it"},
		"wave":          {"a number", "the position of the layer in its order, from 0; not on unmatched resources"},

		"about":             {"JSON", "a summary of a revision"},
		"applied":           {"a fingerprint", "fingerprint of the manifest that was applied last ([unchanged](apply.md#what-unchanged-means))"},
		"contents-digest":   {"a digest", "digest of the kinds and namespaces of an apply set: shows changes by other clients"},
		"contents-revision": {"a number", "the revision whose run wrote the parent last"},
		"former-members":    {"JSON", "members that no kept revision contains"},
		"home":              {"a namespace", "where an apply set with a cluster-scoped parent keeps its Lease and history"},
		"hook-of":           {"the name of an apply set", "the set whose hook created the object"},
		"record":            {"JSON", "what the run of a revision did, and why it failed"},
		"revisions":         {"JSON", "the revisions that count"},
		"taken-from":        {"JSON", "objects of [other tools' records](migrate.md#a-live-application) that will be pruned"},
		"times":             {"JSON", "how long the run of a revision took"},
		"values":            {"`not-kept`", "in the manifest of a revision: the values of the Secret are not kept"},

		"applyset":  {"an identifier", "the apply set of a revision"},
		"chunk":     {"a number", "the part of a revision that a Secret holds"},
		"cluster":   {"a name", "the cluster that an Application deploys to"},
		"cohort":    {"a name", "the cohort of that cluster"},
		"revision":  {"a number", "the revision that a Secret holds"},
		"status":    {"`deployed`, `superseded`, `failed` or `pending`", "how the run of a revision ended"},
		"values-of": {"an identifier", "the apply set whose values of Secrets a Secret keeps"},
	}
}

// docs/annotations.md lists every key that the programs know, and no other. `make golden`
// writes its tables.
func TestAnnotationsPage(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "annotations.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page, described := string(text), rows()
	for name, keys := range map[string][]string{"manifests": names(authors), "stamps": names(stamps), "live": names(live), "labels": labels()} {
		table := "<!-- keys: " + name + " -->\n\n| key | value | meaning |\n|---|---|---|\n"
		for _, key := range keys {
			r, known := described[key]
			require.True(t, known, "describe %s in rows", key)
			table += fmt.Sprintf("| `%s` | %s | %s |\n", key, r.value, r.meaning)
			delete(described, key)
		}
		table += "\n"
		block := regexp.MustCompile("<!-- keys: " + name + " -->\n\n(?:(?:\\|.*\n)+\n)?")
		require.Len(t, block.FindAllString(page, -1), 1, name)
		page = strings.Replace(page, block.FindString(page), table, 1)
	}
	require.Empty(t, described, "no key has this name")
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, string(text), "run `make golden`")
}

// names returns the names of the keys with a use, in the order of keys.
func names(of use) []string {
	var out []string
	for _, k := range keys() {
		if k.use == of {
			out = append(out, k.name)
		}
	}
	return out
}

package input

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
)

const orderHead = "apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: shop}\n"

// With stacks, timeouts and health the file is validated as strictly as
// without: unknown fields are errors.
func TestNoHalfOfAnOrderFileIsUsed(t *testing.T) {
	for _, beside := range []string{
		"timeouts: {Job: 10m}\n",
		"health: [{kind: Store, readyWhen: self.status.open}]\n",
		"stacks: [{name: shop, applications: [{name: web, kind: Deployment}]}]\n",
	} {
		for text, want := range map[string]string{
			orderHead + "sortorder: [{kind: Secret}]\n":                                    "sortorder: unknown field; did you mean sortOrder?",
			orderHead + "sortOrder: [{knd: Secret}]\n":                                     "sortOrder[0].knd: unknown field",
			orderHead + "sortOrder: [{matchAnnotations: {tier: data, tier: web}}]\n":       "tier",
			orderHead + "layers: [{name: nowhere}]\n":                                      "nowhere",
			orderHead + "strict: sometimes\n":                                              "strict",
			"apiVersion: ordapply.dev/v9\nkind: SortOrder\nmetadata: {name: shop}\n":       "apiVersion",
			"apiVersion: ordapply.dev/v1alpha1\nkind: Sortorder\nmetadata: {name: shop}\n": "kind",
			"": "kind",
		} {
			_, err := ParseOrder("order.yaml", []byte(text+beside))
			require.ErrorContains(t, err, want, text+beside)
		}
		file, err := ParseOrder("order.yaml", []byte(orderHead+beside))
		require.NoError(t, err)
		require.Nil(t, file.Order, "it orders nothing by itself")
		file, err = ParseOrder("order.yaml", []byte(orderHead+"sortOrder: [{kind: Secret}]\n"+beside))
		require.NoError(t, err)
		require.NotNil(t, file.Order)
	}
}

// "Kind.group" takes precedence over "Kind", whatever the map's order.
func TestTheMostSpecificTimeoutOfAKindHolds(t *testing.T) {
	for range 100 {
		file, err := ParseOrder("order.yaml", []byte(orderHead+"timeouts: {Job: 1m, Job.batch: 2m, Certificate: 3m, Certificate.cert-manager.io: 4m, A.b.c: 5m, Zebra: 6m}\n"))
		require.NoError(t, err)
		require.Equal(t, []ordering.KindTimeout{
			{Kind: "A.b.c", Timeout: 5 * time.Minute}, {Kind: "Certificate.cert-manager.io", Timeout: 4 * time.Minute}, {Kind: "Job.batch", Timeout: 2 * time.Minute},
			{Kind: "Certificate", Timeout: 3 * time.Minute}, {Kind: "Job", Timeout: time.Minute}, {Kind: "Zebra", Timeout: 6 * time.Minute},
		}, file.Timeouts)
	}
}

// A stored order file was validated when it was applied, and is not validated
// again.
func TestOrderFilesOfRevisionsAreReadAsTheyAre(t *testing.T) {
	file, err := ParseStoredOrder("the order of revision 1", []byte("sortorder: []\nhealth: [{kind: Store, readyWhen: self.status.open}]\n"))
	require.NoError(t, err)
	require.NotNil(t, file.health.rules[""])
}

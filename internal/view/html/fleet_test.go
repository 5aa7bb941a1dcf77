package html

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Names and errors are text on the page of a fleet, and a link leads to a page beside it.
func TestFleetPage(t *testing.T) {
	var page strings.Builder
	require.NoError(t, WriteFleet(&page, Fleet{Began: time.Unix(0, 0), Took: 90 * time.Second, Result: "<b>one</b> failed", Cohorts: []FleetCohort{{
		Name: "canary", State: "failed", Why: "<script>alert(1)</script>",
		Clusters: []FleetCluster{{Name: "<i>eu</i>", Outcome: "failed", Resources: "1 failed", Took: "4.1s", Page: "./run.eu%22.html"}, {Name: "us", Outcome: "not started: interrupted"}},
	}}}))
	for _, text := range []string{
		"&lt;b&gt;one&lt;/b&gt; failed", "ordapply 1970-01-01 00:00 UTC · 1m30s", "Cohort canary: failed", "&lt;script&gt;alert(1)",
		`<a href="./run.eu%22.html">&lt;i&gt;eu&lt;/i&gt;</a></td><td>failed</td><td>1 failed</td><td>4.1s</td>`, "<td>us</td><td>not started: interrupted</td>",
	} {
		require.Contains(t, page.String(), text)
	}
	require.NotContains(t, page.String(), "<script")
}

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/state/history"
)

// On a narrow terminal the message and the description are below the line of their revision, and the
// user and the commit stay.
func TestRevisionTable(t *testing.T) {
	now := time.Unix(3*60*60, 0)
	entries := []history.Entry{
		{Number: 9, Created: time.Unix(0, 0).UTC(), Status: history.Superseded, Resources: 3, Layers: 1, Waves: 2, RunTimes: track.RunTimes{Seconds: 250.4}},
		{Number: 10, Created: time.Unix(0, 0).UTC(), Status: history.Deployed, Resources: 3, Layers: 1, Waves: 2, Origin: history.Origin{
			User: "system:serviceaccount:ci:deployer", Commit: "0123456789abcdef", Message: "raise the\nlimits of the shop \x1b[31m",
		}, Description: "Upgrade complete"},
	}
	require.Equal(t, `REVISION  CREATED               STATUS      DURATION  RESOURCES  LAYERS  WAVES  WHO          COMMIT    MESSAGE                             DESCRIPTION
9         1970-01-01T00:00:00Z  superseded  4m10s     3          1       2      -            -         -                                   -
10        1970-01-01T00:00:00Z  deployed    -         3          1       2      ci:deployer  01234567  raise the limits of the shop  [31m  Upgrade complete
`, revisionTable(entries, 0, now))
	require.Contains(t, revisionTable(entries, 200, now), `REVISION  CREATED               AGE  STATUS `)
	require.Equal(t, `REVISION  CREATED               AGE  STATUS      DURATION  RESOURCES  LAYERS  WAVES  WHO          COMMIT
9         1970-01-01T00:00:00Z  3h   superseded  4m10s     3          1       2      -            -
10        1970-01-01T00:00:00Z  3h   deployed    -         3          1       2      ci:deployer  01234567
    message: raise the limits of the shop [31m
    description: Upgrade complete
`, revisionTable(entries, 110, now))
	require.Equal(t, `REVISION  CREATED               STATUS      WHO          COMMIT
9         1970-01-01T00:00:00Z  superseded  -            -
10        1970-01-01T00:00:00Z  deployed    ci:deployer  01234567
    message: raise the limits of the shop [31m
    description: Upgrade complete
`, revisionTable(entries, 67, now))
	for line := range strings.Lines(revisionTable(entries, 40, now)) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 40)
	}
}

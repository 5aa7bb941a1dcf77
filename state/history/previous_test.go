package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeployedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		entries []Entry
		number  int
		err     string
	}{
		"the one before":     {[]Entry{{Number: 1, Status: Superseded, stored: stored{digest: "a"}}, {Number: 2, Status: Deployed, stored: stored{digest: "b"}}}, 1, ""},
		"not a failed one":   {[]Entry{{Number: 1, Status: Superseded, stored: stored{digest: "a"}}, {Number: 2, Status: Failed, stored: stored{digest: "b"}}, {Number: 3, Status: Deployed, stored: stored{digest: "c"}}}, 1, ""},
		"before a failure":   {[]Entry{{Number: 1, Status: Superseded, stored: stored{digest: "a"}}, {Number: 2, Status: Deployed, stored: stored{digest: "b"}}, {Number: 3, Status: Failed, stored: stored{digest: "c"}}}, 2, ""},
		"not the same":       {[]Entry{{Number: 1, Status: Superseded, stored: stored{digest: "a"}}, {Number: 2, Status: Superseded, stored: stored{digest: "b"}}, {Number: 3, Status: Deployed, stored: stored{digest: "b"}}}, 1, ""},
		"deployed, as it is": {[]Entry{{Number: 1, Status: Superseded, stored: stored{digest: "a"}}, {Number: 2, Status: Deployed, stored: stored{digest: "b"}}, {Number: 3, Status: Failed, stored: stored{digest: "c"}}, {Number: 4, Status: Failed, stored: stored{digest: "b"}}}, 0, "revision 4, the latest, did not become ready and is the same as revision 2"},
		"nothing":            {nil, 0, "nothing to roll back to"},
		"only one":           {[]Entry{{Number: 1, Status: Deployed, stored: stored{digest: "a"}}}, 0, "nothing to roll back to"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := deployedBefore(c.entries)
			require.Equal(t, c.number, e.Number)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

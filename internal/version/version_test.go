package version

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The records of each way to build, and their version.
func TestVersionOfEachBuild(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := strings.Repeat("0123456789", 4)
	for _, c := range []struct {
		name, version    string
		settings         []debug.BuildSetting
		want, wantCommit string
		modified         bool
	}{
		{"go run, tests", "", nil, "(devel)", "", false},
		{"release", "v1.2.3", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "false")}, "v1.2.3", commit, false},
		{"changed checkout", "v1.2.3+dirty", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "true")}, "v1.2.3+dirty", commit, true},
		{"go install of a tag", "v1.2.3", nil, "v1.2.3", "", false},
		{"go install of a commit", "v0.0.0-20260102030405-0123456789ab", nil, "v0.0.0-20260102030405-0123456789ab", "0123456789ab", false},
		{"go install of a commit after a tag", "v1.2.4-0.20260102030405-0123456789ab", nil, "v1.2.4-0.20260102030405-0123456789ab", "0123456789ab", false},
		{"of a changed checkout", "v0.0.0-20260102030405-0123456789ab+dirty", nil, "v0.0.0-20260102030405-0123456789ab+dirty", "0123456789ab", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := of("ordapply", &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
			require.Equal(t, c.want, v.Version)
			require.Equal(t, c.wantCommit, v.Commit)
			require.Equal(t, c.modified, v.Modified)
			shown := ""
			if len(c.settings) > 0 {
				shown = " (commit 012345678901)"
			}
			require.Equal(t, "ordapply "+c.want+shown, v.String())
			require.Regexp(t, `^ordapply/\S+ \(\w+/\w+\)$`, v.UserAgent())
		})
	}
}

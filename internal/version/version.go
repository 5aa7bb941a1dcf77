// Package version reports which build of a program runs. It relies on the records of
// the go command, so that a release, `go install …@v1.2.3` and a local build are all
// described correctly without help from a Makefile:
//
//	version.Own("ordapply").JSON(os.Stdout)
package version

import (
	"cmp"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// Version describes a build.
type Version struct {
	program  string
	Version  string `json:"version"`            // of the module: v1.2.3, a pseudo-version, or (devel)
	Commit   string `json:"commit,omitempty"`   // 40 digits, or 12 of a pseudo-version
	Modified bool   `json:"modified,omitempty"` // built from files that are not in the commit
	Go       string `json:"goVersion"`
	Platform string `json:"platform"` // linux/amd64
}

// Own returns the version of the running program.
func Own(program string) Version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(program, info)
}

// of reads build information. The proxy that `go install` downloads from does not pass on
// the commit of a tag, so there only a pseudo-version contains it.
func of(program string, info *debug.BuildInfo) Version {
	v := Version{
		program: program, Version: cmp.Or(info.Main.Version, "(devel)"),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	if found := pseudo().FindStringSubmatch(v.Version); v.Commit == "" && found != nil {
		v.Commit = found[1]
	}
	return v
}

// pseudo matches a pseudo-version: v0.0.0-20260102030405-0123456789ab, with a pre-release
// before the time if there is an earlier tag.
func pseudo() *regexp.Regexp {
	return regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+.*)?$`)
}

// String returns one line for people: "ordapply v1.2.3 (commit 0123456789ab)".
func (v Version) String() string {
	text := v.program + " " + v.Version
	if short := v.Commit[:min(12, len(v.Commit))]; !strings.Contains(v.Version, short) {
		text += " (commit " + short + ")"
	}
	return text
}

// UserAgent returns the name under which the program is known to API servers:
// "ordapply/v1.2.3 (linux/amd64)".
func (v Version) UserAgent() string {
	return v.program + "/" + v.Version + " (" + v.Platform + ")"
}

// JSON prints the version as one line of JSON.
func (v Version) JSON(w io.Writer) error { return plain.WriteJSON(w, v, "") }

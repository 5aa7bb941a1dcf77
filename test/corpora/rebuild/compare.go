package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// matches reports whether the documents of a stream have the checksum of the list.
func (s stream) matches(text []byte) bool { return checksum(text) == s.SHA256 }

// checksum returns the checksum of a stream's documents, in hexadecimal digits.
func checksum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(documents(text))) }

// documents returns a stream without its header, which is the comments at its beginning.
func documents(text []byte) []byte {
	for bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

// firstDifference describes the first line in which documents differ from the expected ones.
func firstDifference(got, want []byte) string {
	for line := 1; ; line++ {
		gotLine, gotRest, gotMore := bytes.Cut(got, []byte("\n"))
		wantLine, wantRest, wantMore := bytes.Cut(want, []byte("\n"))
		switch {
		case !bytes.Equal(gotLine, wantLine):
			return fmt.Sprintf("line %d of the documents is %q, not %q", line, gotLine, wantLine)
		case !gotMore:
			return fmt.Sprintf("the documents end with line %d, too early", line)
		case !wantMore:
			return fmt.Sprintf("the documents should end with line %d", line)
		}
		got, want = gotRest, wantRest
	}
}

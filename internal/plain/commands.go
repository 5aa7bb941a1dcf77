package plain

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// CI systems read commands from the log of a job: GitHub "::add-mask::x" at the start of a
// line and "##[add-mask]x" anywhere, Azure Pipelines "##vso[task.setvariable variable=A]x"
// anywhere, TeamCity "##teamcity[…]". Text from elsewhere must not issue any. The space that
// breaks one is visible: GitHub and Azure compare by the rules of a culture, which skip zero
// width characters. (GitLab's marks of sections have control characters, which are replaced.)

// colons matches the start of a command in "::": the white space and the rest.
var colons = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([\t\p{Z}]*)::(.*::)`) })

// hashes matches the start of a command in "##".
var hashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)#(#[a-z]*\[)`) })

// inert returns lines without invisible characters in which no command is left.
func inert(text string) string {
	if strings.Contains(text, "::") {
		text = colons().ReplaceAllString(text, "$1: :$2")
	}
	if strings.Contains(text, "##") {
		text = hashes().ReplaceAllString(text, "# $1")
	}
	return text
}

// inertJSON does the same in a JSON document, whose values stay the same.
func inertJSON(document []byte) []byte {
	if !bytes.Contains(document, []byte("##")) {
		return document
	}
	return hashes().ReplaceAll(document, []byte(`\u0023$1`))
}

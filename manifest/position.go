package manifest

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// atLine converts the line numbers of a YAML error, which count from the start
// of a document, to the stream's, and joins it to one line.
func atLine(err error, docLine int) error {
	pattern := regexp.MustCompile(`line (\d+)`)
	text := pattern.ReplaceAllStringFunc(err.Error(), func(match string) string {
		n, convErr := strconv.Atoi(match[len("line "):])
		if convErr != nil {
			return match
		}
		return "line " + strconv.Itoa(n+docLine-1)
	})
	return errors.New(strings.Join(strings.Fields(text), " "))
}

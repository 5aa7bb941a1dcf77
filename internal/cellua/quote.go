package cellua

import (
	"fmt"
	"strings"
)

// quote returns a string literal.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, b := range []byte(text) {
		switch {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b < ' ' || b == 0x7f:
			out.WriteString(fmt.Sprintf("\\%03d", b))
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}

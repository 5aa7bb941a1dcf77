package argocd

import (
	"strconv"
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
			code := strconv.Itoa(int(b))
			out.WriteString(`\` + strings.Repeat("0", 3-len(code)) + code)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}

package terminal

import "os"

// MayDraw reports whether the terminal supports drawing: not if TERM is empty
// or "dumb", as under cron and on Windows consoles, and not in CI.
func MayDraw() bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && os.Getenv("CI") == ""
}

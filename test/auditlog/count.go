package auditlog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Count counts the requests of a user in a log from an offset, such as the file's earlier
// size: a watch when it starts, any other request when it is answered.
func Count(path string, from int64, user string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	count := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r struct {
			Stage, Verb string
			User        struct{ Username string }
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return 0, fmt.Errorf("read the audit log: %w", err)
		}
		counts := "ResponseComplete"
		if r.Verb == "watch" {
			counts = "ResponseStarted"
		}
		if r.User.Username == user && r.Stage == counts {
			count++
		}
	}
	return count, lines.Err()
}

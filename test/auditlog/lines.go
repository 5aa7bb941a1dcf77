package auditlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// eachEvent calls take for each event in a log from an offset.
//
// The API server may be writing when the offset is taken, and when the log is
// read; it writes long lines in pieces. So a line that began before the offset
// is skipped, and so is a last line that has not ended.
func eachEvent[Event any](path string, from int64, take func(Event)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(max(from-1, 0), io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	if from > 0 { // from the byte before, which ends a line unless the offset is inside one
		_, err = lines.ReadBytes('\n')
	}
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			break
		}
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		take(event)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

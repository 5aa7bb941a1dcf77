package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/view/events"
)

// graceOf reads the event log of a run. It returns the time in which it waited only for
// resources that were then assumed ready.
func graceOf(log io.Reader) (time.Duration, error) {
	lines, err := readLog(log)
	if err != nil {
		return 0, err
	}
	assumed := map[subject]bool{}
	for _, l := range lines {
		assumed[l.subject] = assumed[l.subject] || l.Assumed
	}
	var grace time.Duration
	var since time.Time                                       // of the line before
	pending := map[bool]map[subject]bool{false: {}, true: {}} // by whether they are assumed in the end
	for _, l := range lines {
		if len(pending[true]) > 0 && len(pending[false]) == 0 {
			grace += l.Timestamp.Sub(since)
		}
		since = l.Timestamp
		if of := pending[assumed[l.subject]]; l.Final {
			delete(of, l.subject)
		} else {
			of[l.subject] = true
		}
	}
	return grace, nil
}

// transition is a line about a resource or a hook, as far as it matters here.
type transition struct {
	Timestamp time.Time `json:"timestamp"`
	subject
	Final   bool `json:"final"`
	Assumed bool `json:"assumed"`
}

// subject is a resource, or a hook at an event.
type subject struct {
	events.ID
	Event string `json:"event"`
}

// readLog returns the transitions of resources and hooks.
func readLog(log io.Reader) ([]transition, error) {
	var found []transition
	for lines := json.NewDecoder(log); ; {
		var line json.RawMessage
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		var head events.Head
		if err == nil {
			err = json.Unmarshal(line, &head)
		}
		if err == nil && (head.Type == events.TypeResource || head.Type == events.TypeHook) {
			var of transition
			err = json.Unmarshal(line, &of)
			found = append(found, of)
		}
		if err != nil {
			return nil, fmt.Errorf("read the event log: %w", err)
		}
	}
}

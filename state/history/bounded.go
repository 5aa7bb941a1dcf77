package history

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ordapply/ordapply/internal/limits"
)

// decodeWithin decodes a revision, as long as the context lasts.
func decodeWithin(ctx context.Context, data []byte) (*Revision, error) {
	type decoded struct {
		revision *Revision
		err      error
	}
	done := make(chan decoded, 1)
	go func() {
		r, err := decode(data)
		done <- decoded{r, err}
	}()
	select {
	case d := <-done:
		return d.revision, d.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// checkRevision rejects the JSON of a revision that exceeds the limits: a Secret of another
// program could make this one allocate any memory.
func checkRevision(text []byte) error {
	return checkSize(text, limits.RevisionText, limits.RevisionObjects, limits.RevisionValues)
}

// checkRecord is the same for a record. Listing the revisions reads every record.
func checkRecord(text []byte) error {
	return checkSize(text, limits.RecordText, limits.RecordValues/2, limits.RecordValues)
}

// checkCount rejects a number of resources, or of steps of their plan.
func checkCount(count int) error {
	if count > limits.RevisionResources {
		return fmt.Errorf("it has more than %d resources", limits.RevisionResources)
	}
	return nil
}

// checkLengths is checkCount for the JSON of a revision.
func checkLengths(text []byte) error {
	var lists struct {
		Resources length `json:"resources"`
		Hooks     length `json:"hooks"`
		Plan      struct {
			Steps length `json:"steps"`
		} `json:"plan"`
	}
	if objects, _ := countValues(text); objects <= limits.RevisionResources {
		return nil
	}
	if err := json.Unmarshal(text, &lists); err != nil {
		return err
	}
	return checkCount(int(max(lists.Resources, lists.Hooks, lists.Plan.Steps)))
}

// length is the number of elements of a list in JSON, none of which it keeps.
type length int

// UnmarshalJSON implements json.Unmarshaler. It adds up: a key may be there twice.
func (l *length) UnmarshalJSON(list []byte) error {
	var elements []ignored
	err := json.Unmarshal(list, &elements)
	*l += length(len(elements))
	return err
}

// ignored is any value in JSON.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

func checkSize(text []byte, size, objects, values int) error {
	if len(text) > size {
		return fmt.Errorf("its size is %d MiB, and the limit is %d MiB", len(text)>>20, size>>20)
	}
	switch foundObjects, foundValues := countValues(text); {
	case foundObjects > objects:
		return fmt.Errorf("it has more than %d objects", objects)
	case foundValues > values:
		return fmt.Errorf("it has more than %d values", values)
	}
	return nil
}

// countValues returns the number of objects, and at least that of all values, in valid JSON.
func countValues(text []byte) (objects, values int) {
	inText := false
	values = 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case !inText && (c == ',' || c == '{' || c == '['):
			values++
			if c == '{' {
				objects++
			}
		}
	}
	return objects, values
}

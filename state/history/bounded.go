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
	var c jsonCounter
	_, _ = c.Write(text) // it returns no error
	return c.checkRevision()
}

func (c *jsonCounter) checkRevision() error {
	return c.check(limits.RevisionText, limits.RevisionObjects, limits.RevisionValues)
}

// checkRecord is the same for a record. Listing the revisions reads every record.
func checkRecord(text []byte) error {
	var c jsonCounter
	_, _ = c.Write(text) // it returns no error
	return c.check(limits.RecordText, limits.RecordValues/2, limits.RecordValues)
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
	var c jsonCounter
	if _, _ = c.Write(text); c.objects <= limits.RevisionResources {
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

// jsonCounter counts what is in the JSON that is written to it.
type jsonCounter struct {
	bytes, objects  int
	separators      int // of values: there are at most that many and one
	inText, escaped bool
}

// Write implements io.Writer, and returns no error.
func (c *jsonCounter) Write(text []byte) (int, error) {
	c.bytes += len(text)
	for _, b := range text {
		switch {
		case c.escaped:
			c.escaped = false
		case b == '"':
			c.inText = !c.inText
		case c.inText:
			c.escaped = b == '\\'
		case b == '{':
			c.objects++
			c.separators++
		case b == ',' || b == '[':
			c.separators++
		}
	}
	return len(text), nil
}

// values returns at least the number of values.
func (c *jsonCounter) values() int { return c.separators + 1 }

func (c *jsonCounter) check(size, objects, values int) error {
	switch {
	case c.bytes > size:
		return fmt.Errorf("its size is %d MiB, and the limit is %d MiB", c.bytes>>20, size>>20)
	case c.objects > objects:
		return fmt.Errorf("it has more than %d objects", objects)
	case c.values() > values:
		return fmt.Errorf("it has more than %d values", values)
	}
	return nil
}

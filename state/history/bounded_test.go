package history

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/smallmemory"
)

// Whatever a Secret contains, reading it as a revision takes little memory and time.
func TestStoredRevisionsAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 4096) {
		return
	}
	long := limits.RevisionText/2 - 100 // pairs of bytes
	for name, c := range map[string]struct{ text, want string }{
		"many resources":  {`{"format":"v2","resources":[` + strings.Repeat("{},", long/2) + `{}]}`, "it has more than 1000000 objects"},
		"resources":       {`{"format":"v2","resources":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}]}`, "it has more than 100000 resources"},
		"resources twice": {`{"format":"v2","resources":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}],"resources":[]}`, "it has more than 100000 resources"},
		"hooks":           {`{"format":"v2","hooks":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}]}`, "it has more than 100000 resources"},
		"steps":           {`{"format":"v2","plan":{"steps":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}]}}`, "it has more than 100000 resources"},
		"needs":           {`{"format":"v2","plan":{"steps":[{"needs":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}]}]}}`, "its plan does not match its resources"},
		"waves":           {`{"format":"v2","plan":{"waves":[` + strings.Repeat("{},", limits.RevisionObjects-10) + `{}]}}`, ""},
		"a list":          {`{"format":"v2","resources":[{"object":{"a":[` + strings.Repeat("0,", long) + `0]}}]}`, "it has more than 4000000 values"},
		"few enough":      {`{"format":"v2","resources":[` + strings.Repeat("{},", limits.RevisionResources-1) + `{}]}`, "it has no plan"},
		"quoted brackets": {`{"format":"v2","orderFile":"\\\"` + strings.Repeat("[,", long) + `"}`, "it has no plan"},
		"a long text":     {`{"format":"v2","orderFile":"` + strings.Repeat("aa", long+100) + `"}`, "it is larger than 64 MiB when decompressed"},
		"depth":           {`{"format":"v2","resources":[{"object":` + strings.Repeat("[", 3_000_000) + strings.Repeat("]", 3_000_000) + `}]}`, "exceeded max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(zip(t, c.text))
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// Reading a revision ends with its context.
func TestReadingIsAborted(t *testing.T) {
	text := zip(t, `{"format":"v2","resources":[`+strings.Repeat("{},", limits.RevisionObjects-10)+`{}]}`)
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	_, err := decodeWithin(ctx, text)
	require.ErrorIs(t, err, interrupted)
}

// Another program's record counts as none if it is too large, and our own is always read.
func TestRecordsAreBounded(t *testing.T) {
	var large Record
	for range limits.RecordValues / 3 {
		large.Created = append(large.Created, Created{ID: object.ID{Kind: "ConfigMap", Namespace: "a", Name: "a"}})
	}
	text, readable := large.encoded()
	require.Less(t, len(text), maxRecord)
	require.False(t, readable)
	require.Equal(t, Record{}, readRecord(text))
	require.Equal(t, Record{Incomplete: true}, readRecord(large.text()))
}

package html

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
)

// heading names the run and its outcome: "Apply of shop, revision 3, timed out after 3m13s".
func heading(run *Run) string {
	what := map[string]string{"apply": "Apply", "rollback": "Rollback", "delete": "Deletion"}[run.Command]
	if what = cmp.Or(what, "Run"); run.DryRun {
		what = "Dry run"
	}
	switch {
	case run.ApplySet != "":
		what += " of " + run.ApplySet
	case run.Context != "":
		what += " on " + run.Context
	}
	if len(run.Parts) > 0 && run.Parts[0].Revision > 0 {
		what += fmt.Sprintf(", revision %d,", run.Parts[0].Revision)
	}
	how := map[string]string{"done": "succeeded", "failed": "failed", "timedOut": "timed out", "interrupted": "was interrupted"}[run.State]
	return plain.Sprintf("%s %s after %s", what, cmp.Or(how, "has no end in these events"), rounded(run.Ended.Sub(run.Began)))
}

// rounded returns a time with three or four digits.
func rounded(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(time.Second / 10)
	}
	return d.Round(time.Second)
}

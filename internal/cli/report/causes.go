package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// cause is one reason why a run failed, with all resources that it affected.
type cause struct {
	text  string // the message, without the resource if there are several
	hints []string
	ids   []object.ID // none if the error is not about a resource
	first error
}

// groupByCause groups errors that say the same about several resources, in order of
// their first occurrence.
func groupByCause(faults []error) []cause {
	var all []cause
	place := map[string]int{}
	for _, fault := range faults {
		failure, ok := fault.(*event.Error) //nolint:errorlint // another error around it says more
		if !ok {
			all = append(all, cause{text: fault.Error(), hints: hints(fault), first: fault})
			continue
		}
		hints, why := hints(fault), withoutName(failure)
		wave := failure.Wave + ": "
		var member *write.MemberError
		if errors.As(fault, &member) {
			wave = "" // the remedy is one for all waves
		}
		key := strings.Join(append([]string{wave, string(failure.Op), why}, hints...), "\n")
		at, known := place[key]
		if !known {
			at, place[key] = len(all), len(all)
			all = append(all, cause{text: fault.Error(), hints: hints, first: fault})
		}
		c := &all[at]
		switch c.ids = append(c.ids, failure.ID); {
		case len(c.ids) == 1:
		case member != nil:
			c.text = member.Several(len(c.ids))
		default:
			c.text = fmt.Sprintf("%s%s %s: %s", wave, failure.Op, plain.Count(len(c.ids), "resource"), why)
		}
	}
	return all
}

// hints returns the diagnosis of a failure.
func hints(fault error) []string {
	var failure *event.Error
	if errors.As(fault, &failure) && failure.Diagnosis != nil {
		return failure.Diagnosis.Lines()
	}
	return nil
}

// withoutName returns the error of a resource, with its name replaced where the
// API server quotes it.
func withoutName(failure *event.Error) string {
	return strings.ReplaceAll(failure.Err.Error(), fmt.Sprintf("%q", failure.ID.Name), `"…"`)
}

// maxNamed is the number of resources of one cause that are listed.
const maxNamed = 10

// PrintErrors prints errors grouped by cause, each followed by the affected
// resources and the diagnosis, and the flag that takes the fields of all conflicts. That a
// failed run was undone is no error. shade colours the word that begins an error.
func PrintErrors(stderr io.Writer, shade func(terminal.Line) string, faults []error) {
	for _, c := range groupByCause(faults) {
		text := c.text
		if advised := (fault.LogInError{}); fault.CredentialsRefused(c.first) && !errors.As(c.first, &advised) {
			text += "; " + fault.LogInAdvice
		}
		prefix := shade(terminal.Line{Text: "error:", Mood: terminal.Bad}) + " "
		if undone := new(state.UndoneResult); errors.As(c.first, &undone) {
			prefix = ""
		}
		plain.Message(stderr, prefix, text)
		for _, line := range slices.Concat(c.affected(), c.hints) {
			plain.Fprintf(stderr, "  %s\n", line)
		}
	}
	if flag := forceFlag(faults); flag != "" {
		plain.Fprintf(stderr, "to take the fields of all these conflicts: %s\n", flag)
	}
}

// forceFlag returns the flag that takes the fields of all conflicts, if no error names all of
// their managers.
func forceFlag(faults []error) string {
	var all []fault.Conflict
	shown := map[string]bool{}
	for _, one := range faults {
		if found := fault.Conflicts(one); len(found) > 0 && !fault.IsMembershipConflict(one) {
			all = append(all, found...)
			shown[fault.ForceFlag(found)] = true
		}
	}
	if flag := fault.ForceFlag(all); len(all) > 0 && !shown[flag] {
		return flag
	}
	return ""
}

// affected lists the affected resources if there are several.
func (c cause) affected() []string {
	if len(c.ids) < 2 {
		return nil
	}
	var lines []string
	for _, id := range c.ids[:min(maxNamed, len(c.ids))] {
		lines = append(lines, id.String())
	}
	if n := len(c.ids) - maxNamed; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

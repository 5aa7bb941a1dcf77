package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// cause is one reason why a run failed, for as many resources as it struck.
type cause struct {
	text  string // the whole of it, without the resource where it struck several
	hints []string
	ids   []object.ID // none where it is no resource's
	first error
}

// causes puts errors together that say the same of several resources, in the
// order in which the first of each came (DESIGN §6, "grouped by cause").
func causes(faults []error) []cause {
	var all []cause
	place := map[string]int{}
	for _, fault := range faults {
		failure, ok := fault.(*apply.Error) //nolint:errorlint // another error around it says more
		if !ok {
			all = append(all, cause{text: fault.Error(), hints: hints(fault), first: fault})
			continue
		}
		hints, why := hints(fault), anonymous(failure)
		key := strings.Join(append([]string{failure.Wave, string(failure.Op), why}, hints...), "\n")
		at, known := place[key]
		if !known {
			at, place[key] = len(all), len(all)
			all = append(all, cause{text: fault.Error(), hints: hints, first: fault})
		}
		c := &all[at]
		if c.ids = append(c.ids, failure.ID); len(c.ids) > 1 {
			c.text = fmt.Sprintf("%s: %s %s: %s", failure.Wave, failure.Op, count(len(c.ids), "resource"), why)
		}
	}
	return all
}

// hints are what the cluster tells about a failure.
func hints(fault error) []string {
	var failure *apply.Error
	if errors.As(fault, &failure) && failure.Diagnosis != nil {
		return failure.Diagnosis.Lines()
	}
	return nil
}

// anonymous is why a resource failed, without its name where the API server
// quotes it.
func anonymous(failure *apply.Error) string {
	return strings.ReplaceAll(failure.Err.Error(), fmt.Sprintf("%q", failure.ID.Name), `"…"`)
}

// mostNamed is how many resources of one cause are named.
const mostNamed = 10

// printFaults prints errors by their causes, and below each the resources that it
// struck and what the cluster tells about it.
func printFaults(stderr io.Writer, faults []error) {
	for _, c := range causes(faults) {
		text := c.text
		if apply.CredentialsRefused(c.first) && !strings.Contains(text, "log in again") {
			text += "; the API server does not accept the credentials of your kubeconfig: log in again"
		}
		plain.Message(stderr, "error: ", text)
		for _, line := range slices.Concat(c.struck(), c.hints) {
			plain.Fprintf(stderr, "  %s\n", line)
		}
	}
}

// struck names the resources, where there are several.
func (c cause) struck() []string {
	if len(c.ids) < 2 {
		return nil
	}
	var lines []string
	for _, id := range c.ids[:min(mostNamed, len(c.ids))] {
		lines = append(lines, id.String())
	}
	if n := len(c.ids) - mostNamed; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// measurements returns those that results consist of: of each part the same work, programs and
// rounds. works chooses some; nil: all.
func (r Results) measurements(works []string) ([]measurement, error) {
	var all []measurement
	var errs []error
	for _, p := range r.Parts {
		wanted := p
		if slices.Contains([]string{"programs", "streams", "engines"}, p.Work) {
			wanted.Name = "" // one measurement has all
		}
		if slices.ContainsFunc(all, func(m measurement) bool { return m.of.same(wanted) }) {
			continue
		}
		work, m, found := p.choice().find(wanted)
		if usual, _, is := (choice{}).find(wanted); is {
			work = usual
		}
		switch {
		case !found:
			errs = append(errs, fmt.Errorf("%s: this version has no such work", p.title()))
		case len(works) == 0 || slices.Contains(works, work):
			all = append(all, m)
		}
	}
	if len(all)+len(errs) == 0 {
		errs = append(errs, fmt.Errorf("WORK: the results that AS names have no part of %s", strings.Join(works, ", ")))
	}
	return all, errors.Join(errs...)
}

// choice returns what the environment would choose to measure a part in the same way.
func (p Part) choice() choice {
	c := choice{rounds: p.rounds(), peers: p.names()}
	if p.Size > 0 {
		c.sizes = []int{p.Size}
	}
	if p.Delay > 0 {
		c.delays = append(c.delays, p.Delay)
	}
	for _, t := range p.Tries {
		c.tries, c.shuffles = []string{p.Name}, p.rounds()-1
		for _, tool := range t.Tools {
			c.toolTries = max(c.toolTries, tool.Tries)
		}
	}
	return c
}

// find returns the measurement of a part, with the name of its work.
func (c choice) find(of Part) (work string, m measurement, found bool) {
	for _, work := range c.all() {
		for _, m := range work.parts {
			if m.of.same(of) {
				return work.name, m, true
			}
		}
	}
	return "", m, false
}

// like returns the results that AS names, whose measurements are repeated.
func like() (Results, error) {
	for _, name := range []string{"PEERS", "TRY", "SIZES", "DELAYS", "ROUNDS", "SHUFFLES", "TOOLS", "TOOL_TRIES"} {
		if os.Getenv(name) != "" {
			return Results{}, fmt.Errorf("AS and %s: the results that AS names already choose that; only WORK chooses among their parts", name)
		}
	}
	r, err := load(os.Getenv("AS"))
	if err == nil && len(r.Parts) == 0 {
		err = fmt.Errorf("AS: %s has no results", os.Getenv("AS"))
	}
	return r, err
}

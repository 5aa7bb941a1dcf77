package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measurement measures the parts of a piece of work.
type measurement struct {
	of     Part // its work, size and delay
	rounds int
	take   func(*lab) ([]Part, error)
}

// one returns the measurement of one part.
func one(of Part, rounds int, take func(*lab) (Part, error)) measurement {
	return measurement{of, rounds, func(l *lab) ([]Part, error) {
		part, err := take(l)
		return []Part{part}, err
	}}
}

// alone returns a measurement that stops the control plane first.
func (m measurement) alone() measurement {
	take := m.take
	m.take = func(l *lab) ([]Part, error) {
		if err := l.close(); err != nil {
			return nil, err
		}
		return take(l)
	}
	return m
}

// allowed returns an error if results have more rounds of a part that is measured.
func (m measurement) allowed(r Results, names []string) error {
	if m.of.Name != "" {
		return r.allow(m.of, m.rounds)
	}
	var errs []error
	for _, p := range r.of(m.of.Work) {
		// As in test/firsttry, unkind/eck is also called eck, and one of unkind.
		isNamed := func(name string) bool {
			return strings.HasSuffix("/"+p.Name, "/"+name) || strings.HasPrefix(p.Name, name+"/")
		}
		if wanted := m.of; p.Name == "" || len(names) == 0 || slices.ContainsFunc(names, isNamed) {
			wanted.Name = p.Name
			errs = append(errs, r.allow(wanted, m.rounds))
		}
	}
	return errors.Join(errs...)
}

// choice is what the environment chooses; empty fields leave the defaults.
type choice struct {
	works, peers, tries []string
	sizes               []int
	delays              []time.Duration
	rounds, shuffles    int
	tools               string // that test/firsttry tries beside ordapply
	toolTries           int    // in that many orders; 0: in all
	resume              bool   // leave out the parts that the results have in as many rounds
}

// everything reports whether the environment chooses no part of the work or of the peers.
func everything() bool {
	return !slices.ContainsFunc([]string{"WORK", "PEERS", "TRY", "SIZES", "DELAYS", "AS"}, func(name string) bool { return os.Getenv(name) != "" })
}

func environment() (c choice, err error) {
	c.works = strings.FieldsFunc(os.Getenv("WORK"), comma)
	c.peers = strings.FieldsFunc(os.Getenv("PEERS"), func(r rune) bool { return r == ';' })
	for i, peer := range c.peers {
		c.peers[i] = strings.TrimSpace(peer)
		if len(choosePeers(c.peers[i])) == 0 {
			return c, fmt.Errorf("PEERS: no peer is called %q; known: %s", c.peers[i], strings.Join(peerNames(), "; "))
		}
	}
	for _, text := range strings.FieldsFunc(os.Getenv("SIZES"), comma) {
		size, err := strconv.Atoi(text)
		if err != nil {
			return c, fmt.Errorf("SIZES: %w", err)
		}
		c.sizes = append(c.sizes, size)
	}
	for _, text := range strings.FieldsFunc(os.Getenv("DELAYS"), comma) {
		delay, err := time.ParseDuration(text)
		if err != nil {
			return c, fmt.Errorf("DELAYS: %w", err)
		}
		c.delays = append(c.delays, delay)
	}
	c.tries, c.shuffles = strings.Fields(os.Getenv("TRY")), 1
	for _, name := range c.tries {
		if len(tried([]string{name})) == 0 {
			return c, fmt.Errorf("TRY: no stream or program is called %q", name)
		}
	}
	c.tools, c.resume = os.Getenv("TOOLS"), os.Getenv("RESUME") != ""
	for name, value := range map[string]*int{"ROUNDS": &c.rounds, "SHUFFLES": &c.shuffles, "TOOL_TRIES": &c.toolTries} {
		if text := os.Getenv(name); text != "" {
			if *value, err = strconv.Atoi(text); err != nil {
				return c, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return c, nil
}

func comma(r rune) bool { return r == ',' || r == ' ' }

// or returns the chosen values, or the default ones.
func or[T any](chosen []T, defaults ...T) []T {
	if len(chosen) > 0 {
		return chosen
	}
	return defaults
}

// fewest is the number of rounds that give an interval with 95 % confidence.
const fewest = 6

// roundsOr returns the chosen number of rounds, or a number of them.
func (c choice) roundsOr(n int) int {
	if c.rounds > 0 {
		return c.rounds
	}
	return n
}

// roundsOf returns the number of rounds for a number of objects.
func (c choice) roundsOf(size int) int {
	switch {
	case c.rounds > 0:
		return c.rounds
	case size <= 1000:
		return 9
	case size <= 20_000:
		return fewest
	}
	return 5
}

// all returns the names of all works with the measurements that are chosen of each.
func (c choice) all() []struct {
	name  string
	parts []measurement
} {
	objects := func(size int, delay time.Duration, peers ...string) measurement {
		rounds := c.roundsOf(size)
		if delay > 0 {
			rounds = min(rounds, fewest)
		}
		return one(Part{Work: "objects", Size: size, Delay: delay}, rounds, func(l *lab) (Part, error) {
			return l.objects(work{size, delay, rounds, l.present(choosePeers(or(c.peers, peers...)...))})
		})
	}
	sized := func(work string, rounds func(size int) int, take func(l *lab, size, rounds int) (Part, error), sizes ...int) []measurement {
		var all []measurement
		for _, size := range or(c.sizes, sizes...) {
			all = append(all, one(Part{Work: work, Size: size}, rounds(size), func(l *lab) (Part, error) { return take(l, size, rounds(size)) }))
		}
		return all
	}
	var lives, far, scale, graph []measurement
	for _, size := range or(c.sizes, 1, 100, 1000, 5000, 20_000) {
		lives = append(lives, objects(size, 0))
	}
	for _, delay := range or(c.delays, 5*time.Millisecond, 50*time.Millisecond) {
		for _, size := range or(c.sizes, 1000) {
			far = append(far, objects(size, delay))
		}
	}
	for _, size := range or(c.sizes, 50_000) {
		scale = append(scale, objects(size, 0, floor, plain, set))
	}
	for _, shape := range shapes() {
		rounds := min(fewest, c.roundsOf(0))
		graph = append(graph, one(Part{Work: shape, Size: len(graphs()[shape])}, rounds, func(l *lab) (Part, error) { return l.ordered(shape, rounds) }))
	}
	var tries []measurement
	for _, name := range tried(c.tries) {
		tries = append(tries, one(Part{Work: "tries", Name: name}, c.shuffles+1, func(l *lab) (Part, error) { return l.tries(name, c) }))
	}
	few := c.roundsOr(3)
	return []struct {
		name  string
		parts []measurement
	}{
		{"objects", lives}, {"far", far}, {"scale", scale},
		{"move", sized("move", func(size int) int { return min(3, c.roundsOf(size)) }, (*lab).move, 20_000)},
		{"plan", alone(sized("plan", c.roundsOf, (*lab).plan, 1000, 10_000, 100_000))},
		{"filter", alone(sized("filter", c.roundsOf, (*lab).filter, 25_000, 100_000))},
		{"kustomize", alone(sized(builtWork, c.roundsOf, (*lab).kustomize, 1000))},
		{"graphs", graph},
		{"programs", alone([]measurement{{Part{Work: "programs"}, few, func(l *lab) ([]Part, error) { return l.installs("programs", c.tries, few) }}})},
		{"streams", alone([]measurement{{Part{Work: "streams"}, few, func(l *lab) ([]Part, error) { return l.installs("streams", c.tries, few) }}})},
		{"engines", alone([]measurement{{Part{Work: "engines"}, few, func(l *lab) ([]Part, error) { return l.engines(few) }}})},
		{"tries", alone(tries)},
	}
}

// alone returns measurements that stop the control plane first.
func alone(all []measurement) []measurement {
	for i, m := range all {
		all[i] = m.alone()
	}
	return all
}

// chosen returns the measurements that the environment chooses. It returns an error if
// results have more rounds of one of them.
func chosen(r Results) ([]measurement, error) {
	c, err := environment()
	if err != nil {
		return nil, err
	}
	var parts []measurement
	var known []string
	for _, work := range c.all() {
		known = append(known, work.name)
		if len(c.works) == 0 || slices.Contains(c.works, work.name) {
			parts = append(parts, work.parts...)
		}
	}
	var errs []error
	for _, name := range c.works {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("WORK: no work is called %q; known: %s", name, strings.Join(known, ", ")))
		}
	}
	if os.Getenv("AS") != "" {
		other, err := like()
		if err != nil {
			return nil, err
		}
		if parts, err = other.measurements(c.works); err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
	}
	parts = slices.DeleteFunc(parts, func(m measurement) bool { return c.resume && r.find(m.of).rounds() >= m.rounds })
	for _, m := range parts {
		errs = append(errs, m.allowed(r, c.tries))
	}
	return parts, errors.Join(errs...)
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measurement measures one part.
type measurement func(*lab) (Part, error)

// alone returns a measurement that stops the control plane first.
func alone(m measurement) measurement {
	return func(l *lab) (Part, error) {
		if err := l.close(); err != nil {
			return Part{}, err
		}
		return m(l)
	}
}

// choice is what the environment chooses; empty fields leave the defaults.
type choice struct {
	works, peers, tries []string
	sizes               []int
	delays              []time.Duration
	rounds, shuffles    int
}

func environment() (c choice, err error) {
	c.works = strings.FieldsFunc(os.Getenv("WORK"), comma)
	c.peers = strings.FieldsFunc(os.Getenv("PEERS"), func(r rune) bool { return r == ';' })
	for i, peer := range c.peers {
		c.peers[i] = strings.TrimSpace(peer)
		if len(choosePeers(c.peers[i])) == 0 {
			return c, fmt.Errorf("PEERS: no peer is called %q", c.peers[i])
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
	for name, value := range map[string]*int{"ROUNDS": &c.rounds, "SHUFFLES": &c.shuffles} {
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
		return func(l *lab) (Part, error) {
			rounds := c.roundsOf(size)
			if delay > 0 {
				rounds = min(rounds, fewest)
			}
			return l.objects(work{size, delay, rounds, l.present(choosePeers(or(c.peers, peers...)...))})
		}
	}
	var lives, far, scale, move []measurement
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
	for _, size := range or(c.sizes, 20_000) {
		move = append(move, func(l *lab) (Part, error) { return l.move(size, min(3, c.roundsOf(size))) })
	}
	var plan, filter, builds, graph []measurement
	for _, size := range or(c.sizes, 1000, 10_000, 100_000) {
		plan = append(plan, alone(func(l *lab) (Part, error) { return l.plan(size, c.roundsOf(size)) }))
	}
	for _, size := range or(c.sizes, 25_000, 100_000) {
		filter = append(filter, alone(func(l *lab) (Part, error) { return l.filter(size, c.roundsOf(size)) }))
	}
	for _, size := range or(c.sizes, 1000) {
		builds = append(builds, alone(func(l *lab) (Part, error) { return l.kustomize(size, c.roundsOf(size)) }))
	}
	for _, shape := range shapes() {
		graph = append(graph, func(l *lab) (Part, error) { return l.ordered(shape, min(fewest, c.roundsOf(0))) })
	}
	return []struct {
		name  string
		parts []measurement
	}{
		{"objects", lives}, {"far", far}, {"scale", scale}, {"move", move},
		{"plan", plan}, {"filter", filter}, {"kustomize", builds}, {"graphs", graph},
		{"programs", []measurement{alone(func(*lab) (Part, error) { return programs(c.tries) })}},
		{"tries", []measurement{alone(func(l *lab) (Part, error) { return l.tries(c.shuffles, c.tries) })}},
	}
}

// chosen returns the measurements that the environment chooses.
func chosen() ([]measurement, error) {
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
	for _, name := range c.works {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("WORK: no work is called %q; known: %s", name, strings.Join(known, ", "))
		}
	}
	return parts, nil
}

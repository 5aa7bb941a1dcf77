package main

import (
	"fmt"
	"strings"
	"time"
)

// A span of time, written MIN..MAX, or just MAX when both are the same. It is a flag's value.
type span struct{ Min, Max time.Duration }

func (s *span) String() string { return fmt.Sprintf("%s..%s", s.Min, s.Max) }
func (s *span) Type() string   { return "MIN..MAX" }

func (s *span) Set(text string) error {
	low, high, two := strings.Cut(text, "..")
	if !two {
		high = low
	}
	var err error
	if s.Min, err = time.ParseDuration(low); err != nil {
		return err
	}
	if s.Max, err = time.ParseDuration(high); err != nil {
		return err
	}
	if s.Min < 0 || s.Max < s.Min {
		return fmt.Errorf("want 0 <= MIN <= MAX, as in 500ms..2s")
	}
	return nil
}

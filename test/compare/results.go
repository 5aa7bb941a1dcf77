package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Results are what runs have measured so far, a part for each piece of work. A later run
// replaces the parts that it measures, in as many rounds at least.
type Results struct {
	Peers []Described `json:"peers"`
	Parts []Part      `json:"parts"`
}

// Described is a peer as it was measured.
type Described struct {
	Name    string `json:"name"`
	Version string `json:"version"` // of the module in the program; "": of this repository
	Apply   string `json:"apply"`   // command line
	Delete  string `json:"delete"`
}

// Part is one piece of work, by all peers, in rounds. Work, size, delay and name identify it.
type Part struct {
	Work    string        `json:"work"`              // "objects"
	Name    string        `json:"name,omitempty"`    // of the stream or program, if the work is about one
	Size    int           `json:"size,omitempty"`    // number of objects
	Delay   time.Duration `json:"delay,omitempty"`   // added to each round trip
	Objects int           `json:"objects,omitempty"` // of a stream
	Taken   Taken         `json:"taken"`
	Samples []Sample      `json:"samples,omitempty"`
	Tries   []Try         `json:"tries,omitempty"`
}

// Taken says when and where a part was measured.
type Taken struct {
	Date       string `json:"date"`
	Commit     string `json:"commit"` // of ordapply; ends in "+" if files were changed since
	Machine    string `json:"machine"`
	Kubernetes string `json:"kubernetes,omitempty"`
}

// Sample is one measured process.
type Sample struct {
	Peer     string  `json:"peer"`
	Phase    string  `json:"phase"` // "first"
	Round    int     `json:"round"`
	Wall     float64 `json:"wall"`               // seconds
	CPU      float64 `json:"cpu,omitempty"`      // seconds of the client
	Peak     float64 `json:"peak,omitempty"`     // MiB of the client
	Requests int     `json:"requests,omitempty"` // that the API server answered
	Critical float64 `json:"critical,omitempty"` // seconds of the longest chain of the objects' own times
	Alone    float64 `json:"alone,omitempty"`    // seconds until all is ready without an order, sent again until it is accepted
	Grace    float64 `json:"grace,omitempty"`    // seconds in which only a status that never came was waited for
	Failed   string  `json:"failed,omitempty"`   // the error, if it ended with one; nothing else is set then
}

// Try is a real stream, or the install of a program, as test/firsttry reports it.
type Try struct {
	Stream  string  `json:"stream"`
	Refused bool    `json:"refused"` // as it stands; it cannot be applied
	Objects int     `json:"objects"`
	Tries   int     `json:"tries"` // in that many orders, each on an empty control plane
	Good    int     `json:"good"`
	Grace   float64 `json:"grace"` // seconds
	Once    string  `json:"once"`  // of kubectl, as the stream stands
	Loop    string  `json:"loop"`
	Tools   []Tally `json:"tools,omitempty"`
}

// Tally is how often another program succeeded with a stream at the first try.
type Tally struct {
	Name   string `json:"name"` // as appliers has it
	Tries  int    `json:"tries"`
	Good   int    `json:"good"`
	Failed string `json:"failed,omitempty"` // why the first of the others did not succeed
}

// load reads results; without the file there are none.
func load(file string) (Results, error) {
	var r Results
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// save writes results with a line for each peer and each sample, so that a later run changes
// only the lines of its parts.
func (r Results) save(file string) error {
	var b bytes.Buffer
	b.WriteString("{")
	errs := []error{lines(&b, "peers", r.Peers)}
	b.WriteString(`,"parts":[`)
	for i, p := range r.Parts {
		if i > 0 {
			b.WriteString(",")
		}
		head := p
		head.Samples, head.Tries = nil, nil
		text, err := json.Marshal(head)
		b.WriteString("\n" + strings.TrimSuffix(string(text), "}"))
		errs = append(errs, err)
		if p.Samples != nil {
			samples := slices.Clone(p.Samples)
			for i, s := range samples {
				samples[i] = s.rounded()
			}
			b.WriteString(",")
			errs = append(errs, lines(&b, "samples", samples))
		}
		if p.Tries != nil {
			b.WriteString(",")
			errs = append(errs, lines(&b, "tries", p.Tries))
		}
		b.WriteString("}")
	}
	b.WriteString("\n]}\n")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// lines writes a field with a line for each value.
func lines[T any](b *bytes.Buffer, field string, values []T) error {
	fmt.Fprintf(b, "%q:[", field)
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == 0])
		b.Write(text)
	}
	b.WriteString("\n]")
	return nil
}

// rounded returns a sample with seconds to ten microseconds, which is more than a clock tells
// about a process.
func (s Sample) rounded() Sample {
	for _, x := range []*float64{&s.Wall, &s.CPU, &s.Peak, &s.Critical, &s.Alone, &s.Grace} {
		*x = math.Round(*x*1e5) / 1e5
	}
	return s
}

// add adds a part, or replaces that of the same work, and sorts the parts. It returns an
// error if fewer rounds would replace more.
func (r *Results) add(part Part) error {
	if err := r.allow(part, part.rounds()); err != nil {
		return err
	}
	r.Parts = slices.DeleteFunc(r.Parts, func(p Part) bool { return p.same(part) })
	r.Parts = append(r.Parts, part)
	slices.SortStableFunc(r.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Work, b.Work), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Delay, b.Delay), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// allow returns an error if a part has more rounds than would replace it.
func (r Results) allow(part Part, rounds int) error {
	for _, p := range r.Parts {
		if p.same(part) && p.rounds() > rounds {
			return fmt.Errorf("%s: the results have %d rounds, measured on %s, which %d may not replace: %s, or name another file with RESULTS",
				p.title(), p.rounds(), p.Taken.Date, rounds, p.again())
		}
	}
	return nil
}

// onOneMachine leaves out what another machine measured if that has times and everything is to be measured
// here. Otherwise it returns an error: the page compares its times.
func (r *Results) onOneMachine(here string, everything bool) error {
	elsewhere := func(p Part) bool { return p.Taken.Machine != here }
	at := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Tries == nil && elsewhere(p) })
	switch {
	case at < 0:
		return nil
	case !everything:
		return fmt.Errorf("the results are of another machine (%s), and a page is of one (this is %s): measure everything, or name another file with RESULTS", r.Parts[at].Taken.Machine, here)
	}
	r.Parts = slices.DeleteFunc(r.Parts, elsewhere)
	return nil
}

// again returns the setting with which a part is measured in as many rounds.
func (p Part) again() string {
	if p.Tries != nil {
		return fmt.Sprintf("set SHUFFLES=%d", p.rounds()-1)
	}
	return fmt.Sprintf("set ROUNDS=%d", p.rounds())
}

// rounds returns the number of rounds of a part; of tries, the number of orders.
func (p Part) rounds() int {
	most := 0
	for _, s := range p.Samples {
		most = max(most, s.Round+1)
	}
	for _, t := range p.Tries {
		most = max(most, t.Tries)
	}
	return most
}

func (p Part) same(other Part) bool {
	return p.Work == other.Work && p.Size == other.Size && p.Delay == other.Delay && p.Name == other.Name
}

// describe adds or replaces a peer's description. That of a peer that was measured elsewhere
// stays where the peer is not built.
func (r *Results) describe(d Described) {
	at := slices.IndexFunc(r.Peers, func(known Described) bool { return known.Name == d.Name })
	switch {
	case at < 0:
		r.Peers = append(r.Peers, d)
	case d.Version != leftOut:
		r.Peers[at] = d
	}
}

// of returns the parts of a piece of work.
func (r Results) of(work string) []Part {
	return slices.DeleteFunc(slices.Clone(r.Parts), func(p Part) bool { return p.Work != work })
}

// part returns the part of a piece of work without added delay, empty if it was not measured.
func (r Results) part(work string, size int) Part { return r.find(Part{Work: work, Size: size}) }

// find returns the part of the same work, empty if it was not measured.
func (r Results) find(of Part) Part {
	for _, p := range r.Parts {
		if p.same(of) {
			return p
		}
	}
	return Part{}
}

// of returns the samples of a peer in a phase by round, without failures.
func (p Part) of(peer, phase string) map[int]Sample {
	found := map[int]Sample{}
	for _, s := range p.Samples {
		if s.Peer == peer && s.Phase == phase && s.Failed == "" {
			found[s.Round] = s
		}
	}
	return found
}

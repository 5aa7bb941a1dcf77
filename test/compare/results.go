package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Results are what runs have measured so far, a part for each piece of work. A later run
// replaces the parts that it measures.
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

// Part is one piece of work, by all peers, in rounds.
type Part struct {
	Work    string        `json:"work"`            // "objects"
	Size    int           `json:"size,omitempty"`  // number of objects
	Delay   time.Duration `json:"delay,omitempty"` // added to each round trip
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
	CPU      float64 `json:"cpu"`                // seconds of the client
	Peak     float64 `json:"peak"`               // MiB of the client
	Requests int     `json:"requests,omitempty"` // that the API server answered
	Critical float64 `json:"critical,omitempty"` // seconds of the longest chain of the objects' own times
	Failed   string  `json:"failed,omitempty"`   // the error, if it ended with one; nothing else is set then
}

// Try is a real stream, or the install of a program, as test/firsttry reports it.
type Try struct {
	Stream  string  `json:"stream"`
	Refused bool    `json:"refused"` // as it stands; it cannot be applied
	Objects int     `json:"objects"`
	Tries   int     `json:"tries"` // in that many orders, each on an empty control plane
	Good    int     `json:"good"`
	Slowest float64 `json:"slowest"` // seconds
	Grace   float64 `json:"grace"`   // seconds
	Once    string  `json:"once"`    // of kubectl
	Loop    string  `json:"loop"`
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
	return r, json.Unmarshal(text, &r)
}

func (r Results) save(file string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// add adds a part, or replaces that of the same work, and sorts the parts.
func (r *Results) add(part Part) {
	r.Parts = slices.DeleteFunc(r.Parts, func(p Part) bool { return p.same(part) })
	r.Parts = append(r.Parts, part)
	slices.SortStableFunc(r.Parts, func(a, b Part) int {
		if by := strings.Compare(a.Work, b.Work); by != 0 {
			return by
		}
		if a.Size != b.Size {
			return a.Size - b.Size
		}
		return int(a.Delay - b.Delay)
	})
}

func (p Part) same(other Part) bool {
	return p.Work == other.Work && p.Size == other.Size && p.Delay == other.Delay
}

// describe adds or replaces a peer's description.
func (r *Results) describe(d Described) {
	at := slices.IndexFunc(r.Peers, func(known Described) bool { return known.Name == d.Name })
	if at < 0 {
		r.Peers = append(r.Peers, d)
	} else {
		r.Peers[at] = d
	}
}

// part returns the part of a piece of work without added delay, empty if it was not measured.
func (r Results) part(work string, size int) Part {
	for _, p := range r.Parts {
		if p.same(Part{Work: work, Size: size}) {
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

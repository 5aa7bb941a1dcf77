package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// printTable prints a line for each stream and, if it cannot converge
// unmodified, one for that.
func printTable(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var tools []string
	for _, r := range rows {
		for _, one := range r.tools {
			if !slices.Contains(tools, one.Name) {
				tools = append(tools, one.Name)
			}
		}
	}
	heads := strings.ToUpper(strings.Join(append(tools, ""), "\t"))
	fmt.Fprintf(w, "STREAM\tOBJECTS\tFIRST TRY\tSLOWEST\tGRACE\tREVIEWS\t%sKUBECTL ONCE\tKUBECTL LOOP\tVERDICT\n", heads)
	for _, r := range rows {
		once, loop := r.kubectl.columns()
		fmt.Fprintf(w, "%s\t%d\t%d/%d\t%.1fs\t%.1fs\t%d\t%s%s\t%s\t%s\n", r.stream.name, r.objects, r.good, r.tries, r.slowest.Seconds(), r.grace.Seconds(), r.reviews, r.cells(tools), once, loop, r.verdict())
	}
	_ = w.Flush()
	for _, r := range rows {
		if r.refused {
			continue
		}
		if r.stream.why != "" {
			fmt.Fprintf(out, "%s is applied without %s.\n", r.stream.name, r.stream.why)
		}
		if r.stream.namespace != "" {
			fmt.Fprintf(out, "%s is applied with -n %s, after that Namespace was created, as its documentation says.\n", r.stream.name, r.stream.namespace)
		}
	}
}

// cells returns the cells of tools; a dash for one that was not tried.
func (r row) cells(tools []string) string {
	var cells strings.Builder
	for _, name := range tools {
		cell := "-"
		for _, one := range r.tools {
			if one.Name == name {
				cell = fmt.Sprintf("%d/%d", one.Good, one.Tries)
			}
		}
		cells.WriteString(cell + "\t")
	}
	return cells.String()
}

// verdict summarizes the row.
func (r row) verdict() string {
	switch {
	case r.refused && r.good == r.tries:
		return fmt.Sprintf("as it stands: faults named %d, written 0", r.faults)
	case r.refused:
		return fmt.Sprintf("FAILED: as it stands, %d writes", r.writes)
	case r.good == r.tries && r.stream.program != nil:
		return "all Pods ready as it stands"
	case r.good == r.tries && r.stream.converges():
		return "converges as it stands"
	case r.good == r.tries && len(r.stream.finds) > 0:
		return "converges with the kinds that it expects"
	case r.good == r.tries:
		return "converges without what nothing can apply"
	}
	return "FAILED"
}

// columns returns the peer's two columns; a dash if it did not run.
func (p *peer) columns() (once, loop string) {
	if p == nil {
		return "-", "-"
	}
	once, loop = fmt.Sprintf("%d refused", p.refused), fmt.Sprintf("%d rounds", p.rounds)
	if p.refused == 0 {
		once = "done"
	}
	if p.rounds == 0 {
		loop = fmt.Sprintf("not in %d", kubectlRounds)
	}
	if p.unready {
		loop += ", Pods not ready"
	}
	return once, loop
}

// printTimes prints a line for each round of each stream.
func printTimes(out io.Writer, all []timed) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STREAM\tOBJECTS\tBY ITSELF\tCRITICAL PATH\tORDAPPLY\tGRACE\tRATIO")
	for _, t := range all {
		for _, s := range t.Samples {
			if s.Failed != "" {
				fmt.Fprintf(w, "%s\t%d\tfailed: %s\n", t.Stream, t.Objects, s.Failed)
				continue
			}
			fmt.Fprintf(w, "%s\t%d\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", t.Stream, t.Objects, s.Alone, s.Critical, s.Wall, s.Grace, s.Wall/max(s.Alone, s.Critical))
		}
	}
	_ = w.Flush()
}

// record is a row for programs.
type record struct {
	Stream  string  `json:"stream"`
	Refused bool    `json:"refused"` // as it stands; it cannot be applied
	Objects int     `json:"objects"`
	Tries   int     `json:"tries"`
	Good    int     `json:"good"`
	Slowest float64 `json:"slowest"` // seconds
	Grace   float64 `json:"grace"`   // seconds
	Once    string  `json:"once"`    // of kubectl, as the stream stands
	Loop    string  `json:"loop"`
	Tools   []tally `json:"tools,omitempty"`
}

func writeRecords(file string, rows []row) error {
	records := []record{}
	for _, r := range rows {
		once, loop := r.kubectl.columns()
		records = append(records, record{r.stream.name, r.refused, r.objects, r.tries, r.good, r.slowest.Seconds(), r.grace.Seconds(), once, loop, r.tools})
	}
	text, err := json.Marshal(records)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/auditlog"
)

// The proof reads the layers from the stamps in the stream, not from ordapply's
// plan: for each pair of adjacent layers, the PATCH of each resource of the
// later one must have arrived after the write that made each resource of the
// earlier one ready. The second watch identifies that write; the audit log has
// the times.

// manifest holds the fields of a resource that the proof reads.
type manifest struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Annotations     map[string]string
	}
}

func (m manifest) key() auditlog.Key {
	plural := object.GuessPlural(m.Kind)
	return auditlog.Key{Resource: plural, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
}

func (m manifest) String() string { return m.Kind + " " + m.Metadata.Name }

// group is a set of resources that are applied together.
type group struct {
	name    string
	members []manifest
}

// groups returns the prerequisites and the layers of the stream, in order.
func groups(stream []byte) ([]group, error) {
	prerequisites := group{name: "prerequisites"}
	layers := map[int]*group{}
	for doc := range strings.SplitSeq(string(stream), "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			return nil, err
		}
		annotations := m.Metadata.Annotations
		wave, err := strconv.Atoi(annotations["ordapply.dev/wave"])
		switch {
		case m.Kind == "Namespace" || m.Kind == "CustomResourceDefinition":
			prerequisites.members = append(prerequisites.members, m)
		case annotations["ordapply.dev/unmatched"] == "true":
			// comes before its first dependent
		case err != nil:
			return nil, fmt.Errorf("%s carries no stamp", m)
		default:
			if layers[wave] == nil {
				layers[wave] = &group{name: annotations["ordapply.dev/layer"]}
			}
			layers[wave].members = append(layers[wave].members, m)
		}
	}
	out := []group{prerequisites}
	for wave := range 100 {
		if layers[wave] != nil {
			out = append(out, *layers[wave])
		}
	}
	return out, nil
}

// prove checks every gate and prints the result.
func (r *run) prove(a *auditlog.Log) error {
	layers, err := groups(r.stream)
	if err != nil {
		return err
	}
	say("\nthe order, by the API server's audit log and a second watch:")
	var errs []error
	checked := 0
	for i := range layers[1:] {
		earlier, later := layers[i], layers[i+1]
		n, err := r.proveGate(a, earlier, later)
		checked += n
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if checked == 0 {
		return errors.New("the proof found nothing to check")
	}
	say("proven: %d edges over %d gates, none passed early", checked, len(layers)-1)
	return nil
}

// moment is an event of a resource with its time.
type moment struct {
	what manifest
	at   time.Time
}

// proveGate checks one gate: every member of the later group against every
// member of the earlier one. It returns the number of edges.
func (r *run) proveGate(a *auditlog.Log, earlier, later group) (int, error) {
	var ready, sent []moment
	for _, m := range earlier.members {
		at, err := r.readyAt(a, m)
		if err != nil {
			return 0, err
		}
		ready = append(ready, moment{m, at})
	}
	for _, m := range later.members {
		at, ok := a.Patches[m.key()]
		if !ok {
			return 0, fmt.Errorf("the audit log has no PATCH of %s", m)
		}
		sent = append(sent, moment{m, at})
	}
	byTime := func(x, y moment) int { return x.at.Compare(y.at) }
	last, first := slices.MaxFunc(ready, byTime), slices.MinFunc(sent, byTime)
	gap := first.at.Sub(last.at)
	verdict := "kept"
	if gap <= 0 {
		verdict = "BROKEN"
	}
	say("  %-14s -> %-14s  %s ready, then after %6.1f ms PATCH of %s: %s",
		short(earlier.name), short(later.name), last.what, float64(gap.Microseconds())/1000, first.what, verdict)
	if gap <= 0 {
		return 0, fmt.Errorf("the gate before %s was passed %s early by %s", later.name, -gap, first.what)
	}
	return len(ready) * len(sent), nil
}

func short(layer string) string {
	_, name, ok := strings.Cut(layer, "/")
	if !ok {
		return layer
	}
	return name
}

// readyAt returns the arrival of the write that made a resource ready: for most
// kinds the PATCH itself.
func (r *run) readyAt(a *auditlog.Log, m manifest) (time.Time, error) {
	k := m.key()
	if !slices.Contains([]string{"deployments", "statefulsets", "jobs", "customresourcedefinitions"}, k.Resource) {
		at, ok := a.Patches[k]
		if !ok {
			return at, fmt.Errorf("the audit log has no PATCH of %s", m)
		}
		return at, nil
	}
	version, seen := r.observer.ReadyAt(k)
	if !seen {
		return time.Time{}, fmt.Errorf("the second watch never saw %s ready", m)
	}
	at, ok := a.Writes[version]
	if !ok {
		return at, fmt.Errorf("the audit log has no write that made %s ready (resourceVersion %s)", m, version.ResourceVersion)
	}
	return at, nil
}

// say prints a line of progress.
func say(format string, args ...any) {
	fmt.Fprintln(os.Stderr, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}

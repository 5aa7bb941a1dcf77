// Package fleet reads which clusters a fleet has, in which cohorts, and drives the runs on
// them: which cluster may start, when a cohort has passed, and what follows a failure. It
// knows no cluster: what applies to one and what observes one are functions.
//
//	f, err := fleet.Parse("fleet.yaml", text)
//	summary := fleet.Coordinator{Apply: apply, Observe: observe}.Run(ctx, f)
package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ordapply/ordapply/internal/nearest"
)

// APIVersion and Kind are those of a file with a fleet.
const (
	APIVersion = "ordapply.dev/v1alpha1"
	Kind       = "Fleet"
)

// Fleet is the clusters that one command applies to, in cohorts.
type Fleet struct {
	Cohorts []Cohort // applied to one after the other
}

// Cluster is a cluster of a fleet.
type Cluster struct {
	Name       string // for people; unique in the fleet
	Context    string // of the kubeconfig
	Kubeconfig string // path; "" for that of the command
	Namespace  string // "" for that of the command, else of the context
	Labels     map[string]string
	Field      string // where the file names it, for messages
}

// Cohort is clusters that are applied to together. The next cohort opens when it has passed.
type Cohort struct {
	Name        string
	Clusters    []Cluster
	MaxParallel int           // clusters at a time, at least 1
	MaxFailures int           // failures of its clusters with which it still passes
	Gate        time.Duration // how long its clusters must stay ready; 0: not checked
	Pause       time.Duration // between its end and the next cohort
}

// Clusters returns all clusters, in the order of the cohorts.
func (f *Fleet) Clusters() []Cluster {
	var all []Cluster
	for _, cohort := range f.Cohorts {
		all = append(all, cohort.Clusters...)
	}
	return all
}

// OfContexts returns a fleet of contexts of the kubeconfig, each a cohort of its own: one
// after the other, and none after a failure.
func OfContexts(contexts []string) (*Fleet, error) {
	f := &Fleet{}
	var errs []error
	seen := map[string]bool{}
	for _, name := range contexts {
		switch {
		case name == "":
			errs = append(errs, errors.New("--contexts: a name is empty"))
		case seen[name]:
			errs = append(errs, fmt.Errorf("--contexts: duplicate context %s", name))
		}
		seen[name] = true
		only := Cluster{Name: name, Context: name, Field: "--contexts"}
		f.Cohorts = append(f.Cohorts, Cohort{Name: name, Clusters: []Cluster{only}, MaxParallel: 1})
	}
	return f, errors.Join(errs...)
}

// Parse parses the text of a file with a fleet; name is its path, to which paths of
// kubeconfigs are relative. The error joins everything that is wrong, each with its field.
func Parse(name string, text []byte) (*Fleet, error) {
	d, top := decode(text)
	if top != nil {
		d.known("", top)
		d.constant("apiVersion", top, APIVersion)
		d.constant("kind", top, Kind)
	}
	clusters := d.clusters(top, filepath.Dir(name))
	f := &Fleet{Cohorts: d.cohorts(top, clusters)}
	if len(d.faults) > 0 {
		return nil, errors.Join(append([]error{fmt.Errorf("%s is not valid", name)}, d.faults...)...)
	}
	return f, nil
}

// clusters reads the clusters.
func (d *decoder) clusters(top map[string]any, folder string) []Cluster {
	var out []Cluster
	seen, targets := map[string]bool{}, map[[3]string]string{}
	for i, entry := range d.required("clusters", top) {
		at := fmt.Sprintf("clusters[%d]", i)
		fields := d.object(at, entry)
		if fields == nil {
			continue
		}
		d.known(at, fields)
		c := Cluster{
			Name: d.text(at+".name", fields["name"]), Context: d.text(at+".context", fields["context"]),
			Kubeconfig: d.text(at+".kubeconfig", fields["kubeconfig"]), Namespace: d.text(at+".namespace", fields["namespace"]),
			Labels: d.texts(at+".labels", fields["labels"]), Field: at,
		}
		switch {
		case c.Name == "" && fields["name"] == nil:
			d.fault(at+".name", "is missing")
		case strings.ContainsAny(c.Name, " \t\n,/"):
			d.fault(at+".name", "%q: must not contain spaces, commas or slashes", c.Name)
		case seen[c.Name]:
			d.fault(at+".name", "duplicate cluster %s", c.Name)
		}
		seen[c.Name] = true
		if c.Context == "" {
			c.Context = c.Name
		}
		if c.Kubeconfig != "" && !filepath.IsAbs(c.Kubeconfig) {
			c.Kubeconfig = filepath.Join(folder, c.Kubeconfig)
		}
		target := [3]string{c.Kubeconfig, c.Context, c.Namespace}
		if other := targets[target]; other != "" && other != c.Name {
			d.fault(at, "%s has the context and the namespace of %s: it is the same cluster", c.Name, other)
		}
		targets[target] = c.Name
		out = append(out, c)
	}
	return out
}

// cohorts reads the cohorts, and puts each cluster in one.
func (d *decoder) cohorts(top map[string]any, clusters []Cluster) []Cohort {
	var out []Cohort
	names := map[string]bool{}
	in := map[string][]string{} // cohorts by cluster
	for i, entry := range d.required("cohorts", top) {
		at := fmt.Sprintf("cohorts[%d]", i)
		fields := d.object(at, entry)
		if fields == nil {
			continue
		}
		d.known(at, fields)
		c := Cohort{
			Name: d.text(at+".name", fields["name"]), Clusters: d.members(at, fields, clusters),
			Gate: d.duration(at+".gate", fields["gate"]), Pause: d.duration(at+".pause", fields["pause"]),
		}
		c.MaxParallel = d.amount(at+".maxParallel", fields["maxParallel"], len(c.Clusters), math.Ceil, max(1, len(c.Clusters)))
		c.MaxFailures = d.amount(at+".maxFailures", fields["maxFailures"], len(c.Clusters), math.Floor, 0)
		switch {
		case c.Name == "":
			d.fault(at+".name", "is missing")
		case names[c.Name]:
			d.fault(at+".name", "duplicate cohort %s", c.Name)
		}
		if fields["maxParallel"] != nil && c.MaxParallel == 0 {
			d.fault(at+".maxParallel", "is 0: no cluster would ever start")
		}
		names[c.Name] = true
		for _, member := range c.Clusters {
			in[member.Name] = append(in[member.Name], cmp.Or(c.Name, at))
		}
		out = append(out, c)
	}
	if len(out) > 0 { // else they could not be read
		d.once(clusters, in)
	}
	return out
}

// once reports clusters that are not in exactly one cohort.
func (d *decoder) once(clusters []Cluster, in map[string][]string) {
	for _, c := range clusters {
		switch cohorts := in[c.Name]; {
		case c.Name == "": // a fault already
		case len(cohorts) == 0:
			d.fault(c.Field, "cluster %s is in no cohort: name it in clusters, or select it by a label", c.Name)
		case len(cohorts) > 1:
			d.fault(c.Field, "cluster %s is in the cohorts %s: it must be in one", c.Name, strings.Join(cohorts, " and "))
		}
	}
}

// members returns the clusters of a cohort, those that it names in its order and then
// those that it selects.
func (d *decoder) members(at string, fields map[string]any, clusters []Cluster) []Cluster {
	var out []Cluster
	var known []string
	for _, c := range clusters {
		known = append(known, c.Name)
	}
	for i, value := range d.list(at+".clusters", fields["clusters"]) {
		field := fmt.Sprintf("%s.clusters[%d]", at, i)
		name := d.text(field, value)
		switch place := slices.Index(known, name); {
		case name == "": // a fault already
		case place < 0:
			d.fault(field, "unknown cluster %s%s", name, nearest.DidYouMean(name, known))
		case slices.ContainsFunc(out, func(c Cluster) bool { return c.Name == name }):
			d.fault(field, "duplicate cluster %s", name)
		default:
			out = append(out, clusters[place])
		}
	}
	if selector := d.selector(at+".selector", fields["selector"]); selector != nil {
		selected := 0
		for _, c := range clusters {
			if selector.Matches(labels.Set(c.Labels)) {
				selected++
				if !slices.ContainsFunc(out, func(o Cluster) bool { return o.Name == c.Name }) {
					out = append(out, c)
				}
			}
		}
		if selected == 0 {
			d.fault(at+".selector", "selects no cluster")
		}
	}
	if fields["clusters"] == nil && fields["selector"] == nil {
		d.fault(at, "names no clusters: list them in clusters, or select them with selector")
	}
	return out
}

// selector reads a label selector as in a Deployment; nil without one.
func (d *decoder) selector(at string, value any) labels.Selector {
	fields := d.object(at, value)
	if fields == nil {
		return nil
	}
	d.known(at, fields)
	spec := &metav1.LabelSelector{MatchLabels: d.texts(at+".matchLabels", fields["matchLabels"])}
	for i, value := range d.list(at+".matchExpressions", fields["matchExpressions"]) {
		field := fmt.Sprintf("%s.matchExpressions[%d]", at, i)
		of := d.object(field, value)
		d.known(field, of)
		one := metav1.LabelSelectorRequirement{Key: d.text(field+".key", of["key"]), Operator: metav1.LabelSelectorOperator(d.text(field+".operator", of["operator"]))}
		for j, value := range d.list(field+".values", of["values"]) {
			one.Values = append(one.Values, d.text(fmt.Sprintf("%s.values[%d]", field, j), value))
		}
		spec.MatchExpressions = append(spec.MatchExpressions, one)
	}
	selector, err := metav1.LabelSelectorAsSelector(spec)
	switch {
	case err != nil:
		d.fault(at, "%v", err)
		return nil
	case selector.Empty():
		d.fault(at, "is empty: it would select every cluster")
		return nil
	}
	return selector
}

// amount reads a number or a percentage of a whole, which round makes whole.
func (d *decoder) amount(at string, value any, whole int, round func(float64) float64, absent int) int {
	switch v := value.(type) {
	case nil:
		return absent
	case float64:
		if v >= 0 && v == math.Trunc(v) && v <= math.MaxInt32 {
			return int(v)
		}
	case string:
		digits, isPercent := strings.CutSuffix(v, "%")
		if n, err := strconv.Atoi(digits); err == nil && isPercent && n >= 0 && n <= 100 {
			return int(round(float64(n*whole) / 100))
		}
	}
	d.fault(at, "%s: write a number such as 2, or a percentage such as 25%%", shown(value))
	return absent
}

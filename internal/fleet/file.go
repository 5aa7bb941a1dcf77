// Package fleet reads the cohorts and clusters of a fleet, and drives the runs on them:
// which cluster may start, when a cohort has passed, and what follows a failure. It knows
// no cluster: functions apply to one and observe one.
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
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/strict"
)

// APIVersion and Kind identify a fleet file.
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

// WaitsFor reports whether anything may wait for the run on a cluster: another cluster, or the gate
// of its cohort.
func (f *Fleet) WaitsFor(c Cluster) bool {
	if len(f.Cohorts) == 0 {
		return false
	}
	last := f.Cohorts[len(f.Cohorts)-1]
	at := slices.IndexFunc(last.Clusters, func(other Cluster) bool { return other.Name == c.Name })
	startsAfter := len(last.Clusters) > last.MaxParallel && at < len(last.Clusters)-1
	return at < 0 || startsAfter || last.Gate > 0
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
	var doc document
	var faults strict.Faults
	fields, err := strict.Read(text, "a Fleet", fmt.Sprintf("apiVersion %s, kind %s, clusters and cohorts", APIVersion, Kind))
	if err == nil {
		faults = strict.Decode(fields, &doc)
		r := reader{Faults: &faults}
		r.constant("apiVersion", doc.APIVersion, APIVersion)
		r.constant("kind", doc.Kind, Kind)
		clusters := r.clusters(doc.Clusters, filepath.Dir(name))
		f := &Fleet{Cohorts: r.cohorts(doc.Cohorts, clusters)}
		if len(faults) == 0 {
			return f, nil
		}
		err = faults.Err()
	}
	return nil, errors.Join(fmt.Errorf("%s is not valid", name), err)
}

// reader reads a decoded file and adds the faults in its meaning.
type reader struct{ *strict.Faults }

// constant requires a field with one value.
func (r reader) constant(field, got, want string) {
	if got != want && !r.Under(field) {
		r.Add(field, "is %q: write %s", got, want)
	}
}

// clusters reads the clusters.
func (r reader) clusters(specs []clusterSpec, folder string) []Cluster {
	if len(specs) == 0 && !r.Under("clusters") {
		r.Add("clusters", "is empty: a fleet has at least one")
	}
	var out []Cluster
	seen, targets := map[string]bool{}, map[[3]string]string{}
	for i, spec := range specs {
		at := plain.Item("clusters", i)
		c := Cluster{
			Name: spec.Name, Context: cmp.Or(spec.Context, spec.Name), Kubeconfig: spec.Kubeconfig, Namespace: spec.Namespace,
			Labels: spec.Labels, Field: at,
		}
		switch {
		case c.Name == "":
			r.missing(at)
			continue
		case strings.ContainsAny(c.Name, " \t\n,/"):
			r.Add(at+".name", "is %q: it must not contain spaces, commas or slashes", c.Name)
		case seen[c.Name]:
			r.Add(at+".name", "duplicate cluster %s", c.Name)
		}
		seen[c.Name] = true
		if c.Kubeconfig != "" && !filepath.IsAbs(c.Kubeconfig) {
			c.Kubeconfig = filepath.Join(folder, c.Kubeconfig)
		}
		target := [3]string{c.Kubeconfig, c.Context, c.Namespace}
		if other := targets[target]; other != "" && other != c.Name {
			r.Add(at, "%s has the context and the namespace of %s: it is the same cluster", c.Name, other)
		}
		targets[target] = c.Name
		out = append(out, c)
	}
	return out
}

// missing reports that an entry has no name, unless the entry or its name could not be read.
func (r reader) missing(at string) {
	unread := func(f strict.Fault) bool { return f.Path == at || f.Path == at+".name" }
	if !slices.ContainsFunc(*r.Faults, unread) {
		r.Add(at+".name", "is missing")
	}
}

// cohorts reads the cohorts, and puts each cluster in one.
func (r reader) cohorts(specs []cohortSpec, clusters []Cluster) []Cohort {
	if len(specs) == 0 && !r.Under("cohorts") {
		r.Add("cohorts", "is empty: a fleet has at least one")
	}
	var out []Cohort
	names := map[string]bool{}
	in := map[string][]string{} // cohorts by cluster
	for i, spec := range specs {
		at := plain.Item("cohorts", i)
		c := Cohort{Name: spec.Name, Clusters: r.members(at, spec, clusters), Gate: time.Duration(spec.Gate), Pause: time.Duration(spec.Pause)}
		c.MaxParallel = spec.MaxParallel.of(len(c.Clusters), math.Ceil, max(1, len(c.Clusters)))
		c.MaxFailures = spec.MaxFailures.of(len(c.Clusters), math.Floor, 0)
		switch {
		case c.Name == "":
			r.missing(at)
		case names[c.Name]:
			r.Add(at+".name", "duplicate cohort %s", c.Name)
		}
		if spec.MaxParallel != nil && c.MaxParallel == 0 && !r.Under(at+".maxParallel") {
			r.Add(at+".maxParallel", "is 0: no cluster would ever start")
		}
		names[c.Name] = true
		for _, member := range c.Clusters {
			in[member.Name] = append(in[member.Name], cmp.Or(c.Name, at))
		}
		out = append(out, c)
	}
	if len(out) > 0 { // else they could not be read
		r.once(clusters, in)
	}
	return out
}

// once reports clusters that are not in exactly one cohort.
func (r reader) once(clusters []Cluster, in map[string][]string) {
	for _, c := range clusters {
		switch cohorts := in[c.Name]; {
		case len(cohorts) == 0:
			r.Add(c.Field, "cluster %s is in no cohort: name it in clusters, or select it by a label", c.Name)
		case len(cohorts) > 1:
			r.Add(c.Field, "cluster %s is in the cohorts %s: it must be in one", c.Name, strings.Join(cohorts, " and "))
		}
	}
}

// members returns the clusters of a cohort, first the named ones in its order, then the
// selected ones.
func (r reader) members(at string, spec cohortSpec, clusters []Cluster) []Cluster {
	var out []Cluster
	var known []string
	for _, c := range clusters {
		known = append(known, c.Name)
	}
	for i, name := range spec.Clusters {
		field := plain.Item(at+".clusters", i)
		switch place := slices.Index(known, name); {
		case r.Under(field): // it could not be read
		case place < 0:
			r.Add(field, "unknown cluster %q%s", name, nearest.DidYouMean(name, known))
		case slices.ContainsFunc(out, func(c Cluster) bool { return c.Name == name }):
			r.Add(field, "duplicate cluster %s", name)
		default:
			out = append(out, clusters[place])
		}
	}
	switch {
	case spec.Selector != nil:
		out = r.selected(at+".selector", spec.Selector, clusters, out)
	case spec.Clusters == nil && !r.Under(at):
		r.Add(at, "names no clusters: list them in clusters, or select them with selector")
	}
	return out
}

// selected adds the clusters that a selector matches to the named ones.
func (r reader) selected(at string, spec *labelSelector, clusters, out []Cluster) []Cluster {
	if r.Under(at) {
		return out
	}
	like := &metav1.LabelSelector{MatchLabels: spec.MatchLabels}
	for _, one := range spec.MatchExpressions {
		like.MatchExpressions = append(like.MatchExpressions, metav1.LabelSelectorRequirement{Key: one.Key, Operator: metav1.LabelSelectorOperator(one.Operator), Values: one.Values})
	}
	selector, err := metav1.LabelSelectorAsSelector(like)
	switch {
	case err != nil:
		r.Add(at, "%v", err)
		return out
	case selector.Empty():
		r.Add(at, "is empty: it would select every cluster")
		return out
	}
	matches := func(c Cluster) bool { return selector.Matches(labels.Set(c.Labels)) }
	if !slices.ContainsFunc(clusters, matches) {
		r.Add(at, "selects no cluster")
	}
	for _, c := range clusters {
		if matches(c) && !slices.ContainsFunc(out, func(o Cluster) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

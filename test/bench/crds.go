package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/measure"
)

// existingCRDs measures a stream of CRDs and custom resources that are all in the
// cluster already. In order, everything waits until the CRDs are served;
// without order nothing waits (k8sconnect ADR-007, case 1). It also measures
// custom resources against the same number of ConfigMaps.
func existingCRDs(b *bench) error {
	cluster, err := b.cluster("cluster", "--light")
	if err != nil {
		return err
	}
	const kinds, each = 20, 10
	all, err := b.file("all.yaml", definitions(kinds)+things(kinds, each))
	if err != nil {
		return err
	}
	custom, err := b.file("custom.yaml", things(kinds, each))
	if err != nil {
		return err
	}
	plain, err := b.file("plain.yaml", configMaps(kinds*each, "default"))
	if err != nil {
		return err
	}
	applied := func(file string, flags ...string) side {
		return func(int) (time.Duration, error) { return apply(cluster, file, flags...) }
	}
	for _, file := range []string{all, plain} { // once, so that everything exists
		if _, err := apply(cluster, file); err != nil {
			return err
		}
	}
	const limit = 100 * time.Millisecond
	what := fmt.Sprintf("%d CRDs and %d custom resources, all there, in order against without", kinds, kinds*each)
	if err := b.compareDifference(what, limit, applied(all), applied(all, "--ordering=false")); err != nil {
		return err
	}
	what = fmt.Sprintf("%d custom resources of CRDs that are there against as many ConfigMaps", kinds*each)
	return b.compareDifference(what, limit, applied(custom), applied(plain))
}

// compareDifference measures pairs, and reports their difference.
func (b *bench) compareDifference(what string, limit time.Duration, ours, theirs side) error {
	p, err := alternate(b.rounds, ours, theirs)
	if err == nil {
		p.reportDifference(what, limit)
	}
	return err
}

func definitions(kinds int) string {
	var b strings.Builder
	for k := range kinds {
		fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: thing%[1]ds.bench.example}
spec:
  group: bench.example
  scope: Namespaced
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: thing%[1]ds, singular: thing%[1]d}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
`, k)
	}
	return b.String()
}

func things(kinds, each int) string {
	var b strings.Builder
	for k := range kinds {
		for n := range each {
			fmt.Fprintf(&b, "apiVersion: bench.example/v1\nkind: Thing%d\nmetadata: {name: t%d, namespace: default}\ndata: {text: %q}\n---\n", k, n, strings.Repeat("x", 200))
		}
	}
	return b.String()
}

// reportDifference prints the medians, the median of the paired differences,
// and its 95 % interval from order statistics.
func (p pairs) reportDifference(what string, limit time.Duration) {
	differences := make([]time.Duration, len(p.ours))
	for i := range differences {
		differences[i] = p.ours[i] - p.theirs[i]
	}
	slices.Sort(differences)
	low, high := measure.Interval(len(differences))
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	fmt.Printf("%s: %s and %s (medians of %d); difference %s, 95 %% interval %s to %s; limit %s: %s\n",
		what, measure.Median(p.ours).Round(time.Millisecond), measure.Median(p.theirs).Round(time.Millisecond), len(differences),
		round(measure.Median(differences)), round(differences[low]), round(differences[high]), limit, verdict(differences[low] < limit))
}

package fleet

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/text/strict"
)

// document is the file as written.
type document struct {
	APIVersion string        `json:"apiVersion" doc:"Always ordapply.dev/v1alpha1."`
	Kind       string        `json:"kind" doc:"Always Fleet."`
	Metadata   any           `json:"metadata" type:"object" doc:"Not read."`
	Clusters   []clusterSpec `json:"clusters" doc:"The clusters."`
	Cohorts    []cohortSpec  `json:"cohorts" doc:"The cohorts, in the order in which they open. Every cluster must be in exactly one."`
}

// clusterSpec is an entry of clusters.
type clusterSpec struct {
	Name       string            `json:"name" doc:"The cluster's name, in output and in cohorts."`
	Context    string            `json:"context" doc:"A context of the kubeconfig. Default: the name." values:"the name of a context"`
	Kubeconfig string            `json:"kubeconfig" doc:"Path of its kubeconfig, relative to this file. Requires --fleet-kubeconfigs. Default: that of the command." values:"a path"`
	Namespace  string            `json:"namespace" doc:"The namespace, as with -n. Default: that of the command, or of the context." values:"the name of a namespace"`
	Labels     map[string]string `json:"labels" for:"matchLabels" doc:"Labels that the selectors of cohorts match."`
}

// cohortSpec is an entry of cohorts.
type cohortSpec struct {
	Name        string         `json:"name" doc:"The cohort's name."`
	Clusters    []string       `json:"clusters" doc:"Names of its clusters, in the order in which they start."`
	Selector    *labelSelector `json:"selector" for:"matchLabels labels labelSelector" type:"object" write:"selector: {matchLabels: {…}}" doc:"Selects clusters by label; they follow those that are named. Fields as in sortOrder[].labelSelector."`
	MaxParallel *amount        `json:"maxParallel" type:"number or percentage" doc:"How many clusters run at the same time, such as 2 or 25%, which is rounded up. Default: all."`
	MaxFailures *amount        `json:"maxFailures" type:"number or percentage" doc:"How many clusters may fail while the cohort still passes, such as 1 or 10%, which is rounded down. Default: 0."`
	Gate        duration       `json:"gate" doc:"How long all clusters of the cohort that did not fail must stay ready before it has passed, such as 10m. Requires --applyset."`
	Pause       duration       `json:"pause" doc:"How long the next cohort waits after this one has passed, such as 1h."`
}

// labelSelector has the fields of metav1.LabelSelector.
type labelSelector struct {
	MatchLabels      map[string]string `json:"matchLabels" for:"labels" doc:"Labels a cluster must have, each with this value."`
	MatchExpressions []requirement     `json:"matchExpressions" doc:"Conditions on labels."`
}

// requirement has the fields of metav1.LabelSelectorRequirement.
type requirement struct {
	Key      string   `json:"key" doc:"The label's key."`
	Operator string   `json:"operator" doc:"In, NotIn, Exists or DoesNotExist."`
	Values   []string `json:"values" doc:"The values of In and NotIn."`
}

// Document returns the type into which a file is decoded, for the page that lists its fields.
func Document() reflect.Type { return reflect.TypeFor[document]() }

// duration is a duration that is not negative.
type duration time.Duration

// DecodeField takes a text such as 5m.
func (d *duration) DecodeField(value any) error {
	text, _ := value.(string)
	took, err := time.ParseDuration(text)
	if err != nil || took < 0 {
		return fmt.Errorf("is %s: write a duration such as 5m", strict.Describe(value))
	}
	*d = duration(took)
	return nil
}

// amount is a number, or a percentage of a whole.
type amount struct {
	number    int
	isPercent bool
}

// DecodeField takes a number, or a text such as 25%.
func (a *amount) DecodeField(value any) error {
	switch v := value.(type) {
	case float64:
		if v >= 0 && v == math.Trunc(v) && v <= math.MaxInt32 {
			a.number = int(v)
			return nil
		}
	case string:
		digits, isPercent := strings.CutSuffix(v, "%")
		if n, err := strconv.Atoi(digits); err == nil && isPercent && n >= 0 && n <= 100 {
			*a = amount{n, true}
			return nil
		}
	}
	return fmt.Errorf("is %s: write a number such as 2, or a percentage such as 25%%", strict.Describe(value))
}

// of returns the number for a whole; round makes it an integer. A nil amount is an absent
// field's.
func (a *amount) of(whole int, round func(float64) float64, absent int) int {
	switch {
	case a == nil:
		return absent
	case a.isPercent:
		return int(round(float64(a.number*whole) / 100))
	}
	return a.number
}

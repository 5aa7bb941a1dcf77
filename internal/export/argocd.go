package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// application compares the order of an Application of Argo CD.
func (c *comparison) application() {
	own := "layer " + layer(c.want.text("spec", "source", "path"))
	want, have := c.want.text("metadata", "annotations", stamp.SyncWave), c.have.text("metadata", "annotations", stamp.SyncWave)
	if want != have {
		c.say("is in "+waveText(have)+", and the order has it in "+waveText(want), own+" would be applied before what it waits for, or after what waits for it", "set the annotation "+stamp.SyncWave+` to "`+want+`"`)
		c.settle("metadata", "annotations", stamp.SyncWave)
	}
	if c.want.at("metadata", "finalizers") != nil && c.have.at("metadata", "finalizers") == nil {
		c.say("has no finalizer", "its resources would stay when it is deleted, and no order would be kept", "restore metadata.finalizers")
		c.settle("metadata", "finalizers")
	}
	if c.want.at("spec", "syncPolicy", "automated") != nil && c.have.at("spec", "syncPolicy", "automated") == nil {
		c.say("is not synced automatically", own+" is applied only when it is synced by hand, and the layers after it wait for that", "restore spec.syncPolicy.automated")
		c.settle("spec", "syncPolicy", "automated")
	}
}

// applicationSet compares the steps of a rolling sync.
func (c *comparison) applicationSet() {
	isFleet := c.want.at("spec", "template", "metadata", "labels", cohortLabel) != nil
	member, members, misplaced := "layer", "layers", "it would be applied before what it waits for, or after what waits for it"
	if isFleet {
		member, members, misplaced = "cohort", "clusters", "its clusters would be synced before the cohorts that they wait for, or after those that wait for them"
	}
	if kind := c.have.text("spec", "strategy", "type"); kind != c.want.text("spec", "strategy", "type") {
		c.say("is synced without a RollingSync", "Argo CD applies all "+members+" at once", "restore spec.strategy")
		c.settle("spec", "strategy")
		return
	}
	if c.want.text("spec", "strategy", "deletionOrder") != c.have.text("spec", "strategy", "deletionOrder") {
		c.say("is deleted all at once", "a layer would go before those that need it", "set spec.strategy.deletionOrder to Reverse")
		c.settle("spec", "strategy", "deletionOrder")
	}
	if isFleet {
		c.clusters()
	}
	want, have := stepsOf(c.want), stepsOf(c.have)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch step, there := have[name]; {
		case !there:
			c.say("has no step with "+member+" "+name+" in its rolling sync", "Argo CD never syncs it", fmt.Sprintf("add it to step %d", want[name].number))
		case step.number != want[name].number:
			c.say(fmt.Sprintf("has %s %s in step %d of its rolling sync, and the order in step %d", member, name, step.number, want[name].number), misplaced, "move it")
		case step.maxUpdate != want[name].maxUpdate:
			c.say(fmt.Sprintf("syncs %s of %s %s at a time, and the order %s", step.maxUpdate, member, name, want[name].maxUpdate), "", fmt.Sprintf("restore maxUpdate of step %d", step.number))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[name]; !wanted {
			c.say("has a "+member+" "+name+" in its rolling sync", "the order has none of this name", "remove it")
		}
	}
	c.settle("spec", "strategy", "rollingSync")
}

// cohortLabel is a label of the Applications of a fleet.
const cohortLabel = "ordapply.dev/cohort"

// clusters compares the clusters of a fleet.
func (c *comparison) clusters() {
	want, have := c.want.list("spec", "generators"), c.have.list("spec", "generators")
	if len(want) != 1 || len(have) != 1 {
		return
	}
	elements := func(generator map[string]any) []map[string]any {
		return document{object: generator}.list("list", "elements")
	}
	cluster := func(element map[string]any) string { return fieldText(element, "cluster") }
	gone, added, changed := keyed(elements(want[0]), elements(have[0]), cluster)
	for _, name := range gone {
		c.say("has no cluster "+name, "Argo CD deploys nothing to it, and deletes what it has deployed", "restore its element in spec.generators")
	}
	for _, name := range added {
		c.say("has a cluster "+name, "the fleet has none of this name", "remove its element from spec.generators")
	}
	cohorts := map[string]string{}
	for _, element := range elements(want[0]) {
		cohorts[cluster(element)] = fieldText(element, "cohort")
	}
	for _, element := range elements(have[0]) {
		name, cohort := cluster(element), fieldText(element, "cohort")
		switch was, wanted := cohorts[name]; {
		case wanted && cohort != was:
			c.say("has cluster "+name+" in cohort "+cohort+", and the fleet in cohort "+was, "it would be synced before the cohorts that it waits for, or after those that wait for it", "set the cohort of its element in spec.generators")
		case wanted && slices.Contains(changed, name):
			c.say("has other values of cluster "+name, "", "restore its element in spec.generators")
		}
	}
	if len(gone)+len(added)+len(changed) > 0 {
		c.settle("spec", "generators")
	}
}

// rollingStep is a step of a rolling sync.
type rollingStep struct {
	number    int    // from 1
	maxUpdate string // "all" if there is no limit
}

// stepsOf returns the step of each layer, or cohort, of an ApplicationSet.
func stepsOf(d document) map[string]rollingStep {
	out := map[string]rollingStep{}
	for i, step := range d.list("spec", "strategy", "rollingSync", "steps") {
		is := rollingStep{i + 1, "all"}
		if limit, has := step["maxUpdate"]; has {
			is.maxUpdate = fmt.Sprint(limit)
		}
		for _, match := range (document{object: step}).list("matchExpressions") {
			values, _ := match["values"].([]any)
			for _, v := range values {
				out[fmt.Sprint(v)] = is
			}
		}
	}
	return out
}

// healthChecks compares the health checks of a part of argocd-cm.
func (c *comparison) healthChecks() {
	want, _ := c.want.at("data").(map[string]any)
	have, _ := c.have.at("data").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		name, isCheck := strings.CutPrefix(key, "resource.customizations.health.")
		group, kind, _ := strings.Cut(name, "_")
		kind += "." + group
		got, there := have[key]
		switch {
		case !isCheck || there && got == want[key]:
			continue
		case there:
			c.say("has another health check of "+kind, "the gate opens when that holds, and not when the rule does", "restore data["+key+"]")
		case name == "argoproj.io_Application":
			c.say("has no health check of Applications", "Argo CD waits for no layer", "restore data["+key+"]")
		default:
			c.say("has no health check of "+kind, "Argo CD takes one for healthy as soon as it exists, so that what waits for it would be applied too early", "restore data["+key+"]")
		}
		c.settle("data", key)
	}
}

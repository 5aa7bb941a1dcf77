package drift

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/toolkeys"
)

// application compares the order of an Application of Argo CD.
func (c *comparison) application() {
	own := "layer " + layer(c.want.text("spec", "source", "path"))
	want, have := c.want.text("metadata", "annotations", toolkeys.SyncWave), c.have.text("metadata", "annotations", toolkeys.SyncWave)
	if want != have {
		c.say("is in "+waveText(have)+", and the order has it in "+waveText(want), own+" would be applied before what it waits for, or after what waits for it", "set the annotation "+toolkeys.SyncWave+` to "`+want+`"`)
		c.settle("metadata", "annotations", toolkeys.SyncWave)
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
	if kind := c.have.text("spec", "strategy", "type"); kind != c.want.text("spec", "strategy", "type") {
		c.say("is synced without a RollingSync", "Argo CD applies all layers at once", "restore spec.strategy")
		c.settle("spec", "strategy")
		return
	}
	if c.want.text("spec", "strategy", "deletionOrder") != c.have.text("spec", "strategy", "deletionOrder") {
		c.say("is deleted all at once", "a layer would go before those that need it", "set spec.strategy.deletionOrder to Reverse")
		c.settle("spec", "strategy", "deletionOrder")
	}
	want, have := stepsOf(c.want), stepsOf(c.have)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch step, there := have[name]; {
		case !there:
			c.say("has no step with layer "+name+" in its rolling sync", "Argo CD never syncs it", fmt.Sprintf("add it to step %d", want[name]))
		case step != want[name]:
			c.say(fmt.Sprintf("has layer %s in step %d of its rolling sync, and the order in step %d", name, step, want[name]), "it would be applied before what it waits for, or after what waits for it", "move it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[name]; !wanted {
			c.say("has a layer "+name+" in its rolling sync", "the order has none of this name", "remove it")
		}
	}
	c.settle("spec", "strategy", "rollingSync")
}

// stepsOf returns for each layer of an ApplicationSet the number of its step, from 1.
func stepsOf(d document) map[string]int {
	out := map[string]int{}
	for i, step := range d.list("spec", "strategy", "rollingSync", "steps") {
		for _, match := range (document{object: step}).list("matchExpressions") {
			values, _ := match["values"].([]any)
			for _, v := range values {
				out[fmt.Sprint(v)] = i + 1
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

package export

import "strings"

// kustomization compares the gates of a Kustomization of Flux.
func (c *comparison) kustomization() {
	c.dependencies()
	own := "layer " + layer(c.want.text("spec", "path"))
	early := "what waits for " + own + " would be applied too early"
	wanted, _ := c.want.at("spec", "wait").(bool)
	waits, _ := c.have.at("spec", "wait").(bool)
	switch {
	case wanted && !waits:
		c.say("no longer waits until its resources are ready", early, "set spec.wait to true")
	case waits && !wanted:
		c.say("waits until all of its resources are ready", "the order does not ask for that, and one that becomes ready only later would block it for ever", "remove spec.wait")
	}
	c.settle("spec", "wait")
	gone, added, _ := keyed(c.want.list("spec", "healthChecks"), c.have.list("spec", "healthChecks"), checked)
	for _, what := range gone {
		c.say("no longer waits until "+what+" is ready", early, "add it to spec.healthChecks")
	}
	for _, what := range added {
		c.say("waits until "+what+" is ready", "the order does not ask for that", "remove it from spec.healthChecks")
	}
	c.settle("spec", "healthChecks")
	gone, added, changed := keyed(c.want.list("spec", "healthCheckExprs"), c.have.list("spec", "healthCheckExprs"), judged)
	for _, kind := range gone {
		c.say("no longer has a condition for "+kind, "Flux takes an object without a status for ready, so that "+early, "restore it in spec.healthCheckExprs")
	}
	for _, kind := range added {
		c.say("has a condition for "+kind, "no rule of the stream asks for it", "remove it from spec.healthCheckExprs")
	}
	for _, kind := range changed {
		c.say("has another condition for "+kind, "the gate opens when that holds, and not when the rule does", "restore it in spec.healthCheckExprs")
	}
	c.settle("spec", "healthCheckExprs")
	if suspended, _ := c.have.at("spec", "suspend").(bool); suspended {
		c.say("is suspended", own+" is not applied, and what depends on it waits", "remove spec.suspend")
		c.settle("spec", "suspend")
	}
}

// dependencies compares what a Kustomization depends on.
func (c *comparison) dependencies() {
	own := "layer " + layer(c.want.text("spec", "path"))
	name := func(item map[string]any) string {
		return strings.TrimPrefix(fieldText(item, "namespace")+"/", "/") + fieldText(item, "name")
	}
	gone, added, changed := keyed(c.want.list("spec", "dependsOn"), c.have.list("spec", "dependsOn"), name)
	for _, before := range gone {
		c.say("no longer depends on "+before, own+" would be applied before that is ready", "add it to spec.dependsOn")
	}
	for _, before := range added {
		c.say("depends on "+before, "the order does not ask for that", "remove it from spec.dependsOn")
	}
	for _, before := range changed {
		c.say("depends on "+before+" in another way", "a readyExpr replaces Flux's own check, which also asks for the same revision", "leave only its name in spec.dependsOn")
	}
	c.settle("spec", "dependsOn")
}

// checked names the object of a health check.
func checked(item map[string]any) string {
	name := fieldText(item, "name")
	if namespace := fieldText(item, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return fieldText(item, "kind") + " " + name
}

// judged names the kind of a condition.
func judged(item map[string]any) string {
	return fieldText(item, "kind") + " (" + fieldText(item, "apiVersion") + ")"
}

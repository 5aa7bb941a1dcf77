package fn

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// dependsOn is read by kpt live apply and Config Sync: a comma-separated list
// of group/namespaces/namespace/kind/name, or group/kind/name for resources
// without a namespace; the core group is empty.
const dependsOn = "config.kubernetes.io/depends-on"

// maxDependsOn bounds the list on one resource, in bytes. All annotations of a
// resource together may have 256 KiB.
const maxDependsOn = 128 << 10

// kpt makes every resource depend on every resource of the layers right before.
func (e *emitter) kpt(i int) map[string]string {
	var references []string
	for _, layer := range e.directNeeds(i) {
		for _, n := range e.members[layer] {
			references = append(references, reference(e.metas[n].ID))
		}
	}
	value := strings.Join(references, ",")
	if len(value) > maxDependsOn {
		e.findings.add(Finding{Severity: Error, Object: &e.metas[i], Message: fmt.Sprintf(
			"would get a %s of %d KiB, on %d resources; at most %d KiB fit: make smaller layers, or take kpt out of emit",
			dependsOn, len(value)>>10, len(references), maxDependsOn>>10)})
		return nil
	}
	if value == "" {
		return nil
	}
	return map[string]string{dependsOn: value}
}

// reference is an ID as cli-utils spells it.
func reference(id object.ID) string {
	if id.Namespace == "" {
		return id.Group + "/" + id.Kind + "/" + id.Name
	}
	return id.Group + "/namespaces/" + id.Namespace + "/" + id.Kind + "/" + id.Name
}

// needsHash marks a resource to whose name kustomize will add a hash, and
// kustomizeID one that kustomize handed to the function.
const (
	needsHash   = "internal.config.kubernetes.io/needsHashSuffix"
	kustomizeID = "kustomize.config.k8s.io/id"
)

// warnOfNames tells, once, that kustomize may change names after the function
// and does not correct depends-on.
func (e *emitter) warnOfNames() {
	built, hashed := 0, ""
	for i, m := range e.metas {
		if e.waves[i] < 0 {
			continue
		}
		if m.Annotations[kustomizeID] != "" {
			built++
		}
		if hashed == "" && m.Annotations[needsHash] != "" {
			hashed = m.ID.String()
		}
	}
	if built == 0 && hashed == "" {
		return
	}
	message := "kustomize may still change names, by a prefix or suffix of an overlay, and does not correct " + dependsOn
	if hashed != "" {
		message = fmt.Sprintf("kustomize will add a hash to names such as %s and does not correct %s", hashed, dependsOn)
	}
	e.findings.add(Finding{Severity: Warning, Field: "emit", Message: message + ": emit kpt where names are final, by kustomize build | sortorder"})
}

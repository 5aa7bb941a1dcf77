package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// dependsOn is read by kpt live apply and Config Sync: a comma-separated list
// of group/namespaces/namespace/kind/name, or group/kind/name for
// cluster-scoped resources; the core group is empty.
const dependsOn = "config.kubernetes.io/depends-on"

// maxDependsOn limits the list on one resource, in bytes. All annotations of an
// object may have 256 KiB in total.
const maxDependsOn = 128 << 10

// maxDependsOnSum limits the total size of these lists, in bytes: each member
// of a layer lists all members of another, and all lists are in memory.
const maxDependsOnSum = 64 << 20

// dependsOnValue is the list of the members of the preceding layers.
type dependsOnValue struct {
	text  string
	count int // number of resources
}

// kpt makes every resource depend on every resource of the directly preceding
// layers.
func (e *emitter) kpt(i int) map[string]string {
	value := e.kptValue(i)
	if len(value.text) > maxDependsOn {
		e.findings.add(Finding{Severity: Error, Object: &e.metas[i], Message: fmt.Sprintf(
			"would get a %s of %d KiB, on %d resources; the maximum is %d KiB: make smaller layers, or remove kpt from emit",
			dependsOn, len(value.text)>>10, value.count, maxDependsOn>>10)})
		return nil
	}
	if value.text == "" || e.kptOff {
		return nil
	}
	return map[string]string{dependsOn: value.text}
}

// kptValue returns the list for a resource: the members of the directly
// preceding layers, shared by all resources of its layer, and its additional
// needs. These tools wait for everything that was applied together before they
// continue. Therefore a resource that becomes ready only when it is used is
// applied with its user and gets the user's list.
func (e *emitter) kptValue(i int) dependsOnValue {
	companions := e.needs.companions(i)
	layer := e.layers[companions[len(companions)-1]]
	value := e.kptLayers(layer)
	var listed map[int]bool // includes what must not be listed
	if len(companions) > 1 {
		listed = e.needs.users(i)
	}
	for _, c := range companions {
		for _, need := range e.needs.single(c, e.layers) {
			if listed[need] || e.layers[need] >= 0 && !e.needs.late(need) && slices.Contains(e.directNeeds(layer), e.order.Name+"/"+e.order.Layers[e.layers[need]].Name) {
				continue
			}
			if len(companions) > 1 {
				listed[need] = true
			}
			value = value.with(e.metas[need].ID)
		}
	}
	return value
}

// with returns the list with one more resource.
func (v dependsOnValue) with(id object.ID) dependsOnValue {
	if v.text != "" {
		v.text += ","
	}
	return dependsOnValue{v.text + reference(id), v.count + 1}
}

// kptLayers returns the list of the members of the layers directly before a
// layer.
func (e *emitter) kptLayers(rank int) dependsOnValue {
	value, known := e.kptOf[rank]
	if !known {
		var references []string
		for _, layer := range e.directNeeds(rank) {
			for _, n := range e.members[layer] {
				references = append(references, reference(e.metas[n].ID))
			}
		}
		value = dependsOnValue{strings.Join(references, ","), len(references)}
		e.kptOf[rank] = value
	}
	return value
}

// checkKptSize adds one error if the lists are too large in total.
func (e *emitter) checkKptSize() {
	sum, resources := 0, 0
	for i := range e.metas {
		if !e.ours[i] {
			continue
		}
		if size := len(e.kptValue(i).text); size > 0 && size <= maxDependsOn {
			sum, resources = sum+size, resources+1
		}
	}
	if e.kptOff = sum > maxDependsOnSum; e.kptOff {
		e.findings.add(Finding{Severity: Error, Field: "emit", Message: fmt.Sprintf(
			"%s on %d resources would add %d MiB to the stream; the maximum is %d MiB: make smaller layers, or remove kpt from emit",
			dependsOn, resources, sum>>20, maxDependsOnSum>>20)})
	}
}

// reference formats an ID in the syntax of cli-utils.
func reference(id object.ID) string {
	if id.Namespace == "" {
		return id.Group + "/" + id.Kind + "/" + id.Name
	}
	return id.Group + "/namespaces/" + id.Namespace + "/" + id.Kind + "/" + id.Name
}

// needsHash marks a resource whose name gets a hash suffix later; kustomizeID
// marks a resource that kustomize passed to the function.
const (
	needsHash   = "internal.config.kubernetes.io/needsHashSuffix"
	kustomizeID = "kustomize.config.k8s.io/id"
)

// warnRenames adds one warning that kustomize may change names after the
// function and does not update depends-on.
func (e *emitter) warnRenames() {
	built, hashed := 0, ""
	for i, m := range e.metas {
		if !e.ours[i] {
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
	message := "kustomize may still change names, with a prefix or suffix of an overlay, and does not update " + dependsOn
	if hashed != "" {
		message = fmt.Sprintf("kustomize will add a hash to names such as %s and does not update %s", hashed, dependsOn)
	}
	e.findings.add(Finding{Severity: Warning, Field: "emit", Message: message + ": emit kpt when names are final, with kustomize build | sortorder"})
}

package arrange

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// maxDependsOn limits the list on one resource, in bytes. All annotations of an
// object may have 256 KiB in total.
const maxDependsOn = 128 << 10

// maxDependsOnSum limits the total size of these lists, in bytes: each member
// of a layer lists all members of another, and all lists are in memory.
const maxDependsOnSum = 64 << 20

// kpt makes every resource depend on every resource of the directly preceding
// layers.
func (e *Emitter) kpt(i int) map[string]string {
	value := e.kptValue(i)
	if len(value.text) > maxDependsOn {
		e.fail(i, "would get a %s of %d KiB, on %d resources; the maximum is %d KiB: make smaller layers, or remove kpt from emit",
			stamp.DependsOn, len(value.text)>>10, value.count, maxDependsOn>>10)
		return nil
	}
	if value.text == "" || e.kptOff {
		return nil
	}
	return map[string]string{stamp.DependsOn: value.text}
}

// kptValue returns the list for a resource: the members of the directly
// preceding layers, shared by all resources of its layer, and its additional
// needs. These tools wait for everything that was applied together before they
// continue. Therefore a resource that becomes ready only when it is used is
// applied with its user and gets the user's list.
func (e *Emitter) kptValue(i int) dependsOnValue {
	companions := e.companions(i)
	layer := e.layers[companions[len(companions)-1]]
	value := e.kptLayers(layer)
	var listed map[int]bool // or never to be listed
	if len(companions) > 1 {
		listed = e.users(i)
	}
	for _, c := range companions {
		for _, need := range e.single(c) {
			if listed[need] || e.layers[need] >= 0 && !e.plan.Late(need) && slices.Contains(e.directNeeds(layer), e.stream.Order.Name+"/"+e.stream.Order.Layers[e.layers[need]].Name) {
				continue
			}
			if len(companions) > 1 {
				listed[need] = true
			}
			value = value.with(e.stream.Metas[need].ID)
		}
	}
	return value
}

// with returns the list with one more resource.
func (v dependsOnValue) with(id object.ID) dependsOnValue {
	if v.text != "" {
		v.text += ","
	}
	return dependsOnValue{v.text + id.Reference(), v.count + 1}
}

// kptLayers returns the list of the members of the layers directly before a
// layer.
func (e *Emitter) kptLayers(rank int) dependsOnValue {
	value, known := e.kptOf[rank]
	if !known {
		var references []string
		for _, layer := range e.directNeeds(rank) {
			for _, n := range e.members[layer] {
				references = append(references, e.stream.Metas[n].ID.Reference())
			}
		}
		value = dependsOnValue{strings.Join(references, ","), len(references)}
		e.kptOf[rank] = value
	}
	return value
}

// checkKptSize adds one error if the lists are too large in total.
func (e *Emitter) checkKptSize() {
	sum, resources := 0, 0
	for i := range e.stream.Metas {
		if !e.stream.Ours[i] {
			continue
		}
		if size := len(e.kptValue(i).text); size > 0 && size <= maxDependsOn {
			sum, resources = sum+size, resources+1
		}
	}
	if e.kptOff = sum > maxDependsOnSum; e.kptOff {
		e.fail(-1, "%s on %d resources would add %d MiB to the stream; the maximum is %d MiB: make smaller layers, or remove kpt from emit",
			stamp.DependsOn, resources, sum>>20, maxDependsOnSum>>20)
	}
}

// needsHash marks a resource whose name gets a hash suffix later.
const needsHash = "internal.config.kubernetes.io/needsHashSuffix"

// warnRenames adds one warning that kustomize may change names after the
// function and does not update depends-on.
func (e *Emitter) warnRenames() {
	built, hashed := 0, ""
	for i, m := range e.stream.Metas {
		if !e.stream.Ours[i] {
			continue
		}
		if m.Annotations[stamp.KustomizeID] != "" {
			built++
		}
		if hashed == "" && m.Annotations[needsHash] != "" {
			hashed = m.ID.String()
		}
	}
	if built == 0 && hashed == "" {
		return
	}
	message := "kustomize may still change names, with a prefix or suffix of an overlay, and does not update " + stamp.DependsOn
	if hashed != "" {
		message = fmt.Sprintf("kustomize will add a hash to names such as %s and does not update %s", hashed, stamp.DependsOn)
	}
	e.warn(-1, "%s: emit kpt when names are final, with kustomize build | sortorder", message)
}

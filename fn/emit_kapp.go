package fn

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// changeGroup and changeRule are kapp's keys: a rule orders changes of a
// resource after changes of a group. kapp permits several, distinguished by a
// suffix of the key, so that ours do not conflict with the author's.
const (
	changeGroup = "kapp.k14s.io/change-group.ordapply"
	changeRule  = "kapp.k14s.io/change-rule.ordapply-"
)

// kapp emits the layer as a group and, for each directly preceding layer and
// each additionally needed resource, one rule for creation and an inverse one
// for deletion.
func (e *emitter) kapp(i int) map[string]string {
	out := map[string]string{}
	switch {
	case e.needs.first(i):
		out[changeGroup] = e.firstGroup()
	case e.layers[i] >= 0 && !e.needs.late(i):
		out[changeGroup] = groupName(e.order.Name + "/" + e.order.Layers[e.layers[i]].Name)
	}
	if e.alone[i] {
		out[changeGroup+"-one"] = e.groupOf(i)
	}
	for n, group := range e.groupsBefore(i) {
		out[fmt.Sprintf("%s%d", changeRule, 2*n)] = "upsert after upserting " + group
		out[fmt.Sprintf("%s%d", changeRule, 2*n+1)] = "delete before deleting " + group
	}
	return out
}

// groupsBefore returns the groups that come before a resource.
func (e *emitter) groupsBefore(i int) []string {
	if e.needs.first(i) {
		return nil
	}
	var groups []string
	for _, layer := range e.directNeeds(e.layers[i]) {
		groups = append(groups, groupName(layer))
	}
	if len(groups) == 0 && e.hasFirst {
		groups = append(groups, e.firstGroup())
	}
	for _, need := range e.needs.single(i, e.layers) {
		if e.ours[need] {
			groups = append(groups, e.groupOf(need))
		}
	}
	return groups
}

// firstGroup returns the group of what comes before everything, and groupOf that
// of a single resource. No layer name starts with "~".
func (e *emitter) firstGroup() string { return groupName(e.order.Name + "/~prerequisites") }

func (e *emitter) groupOf(i int) string {
	return groupName(e.order.Name + "/~" + e.metas[i].ID.String())
}

// groupName converts order/layer to a name that kapp accepts: a prefix, a
// slash, and up to 63 letters, digits, dots, dashes and underscores. If that
// loses information, a hash keeps names distinct.
func groupName(layer string) string {
	order, rest, _ := strings.Cut(layer, "/")
	if isWord(order) && isWord(rest) && len(layer) <= 63 {
		return "ordapply.dev/" + order + "." + rest
	}
	word := strings.Map(func(r rune) rune {
		if strings.ContainsRune(wordRunes, r) {
			return r
		}
		return '-'
	}, layer)
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(layer)))[:8]
	return "ordapply.dev/l" + word[:min(len(word), 53)] + "-" + hash
}

const wordRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// isWord reports whether a name consists of letters, digits and inner dashes.
func isWord(name string) bool {
	return name != "" && strings.Trim(name, wordRunes) == "" && name[0] != '-' && name[len(name)-1] != '-'
}

package fn

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// changeGroup and changeRule are kapp's: a group is a name, a rule orders
// changes to this resource after changes to a group. kapp allows several of
// each, told apart by what follows the key; the author's stay beside ours.
const (
	changeGroup = "kapp.k14s.io/change-group.ordapply"
	changeRule  = "kapp.k14s.io/change-rule.ordapply-"
)

// kapp names the layer as a group and adds, for each layer right before and for
// each resource that is needed beside these, one rule for creating and one for
// deleting, which goes the other way round.
func (e *emitter) kapp(i int) map[string]string {
	out := map[string]string{}
	switch {
	case e.needs.first(i):
		out[changeGroup] = e.firstGroup()
	case e.layers[i] >= 0:
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

// groupsBefore are the groups that come before a resource.
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

// firstGroup is the group of what goes before everything, and groupOf that of a
// single resource. No layer has a name that begins so.
func (e *emitter) firstGroup() string { return groupName(e.order.Name + "/~prerequisites") }

func (e *emitter) groupOf(i int) string {
	return groupName(e.order.Name + "/~" + e.metas[i].ID.String())
}

// groupName is order/layer as a name that kapp accepts: a prefix, a slash, and
// up to 63 letters, digits, dots, dashes and underscores. A hash keeps names
// apart where that loses something.
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

// isWord tells whether a name is letters, digits and dashes inside.
func isWord(name string) bool {
	return name != "" && strings.Trim(name, wordRunes) == "" && name[0] != '-' && name[len(name)-1] != '-'
}

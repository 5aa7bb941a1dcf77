package arrange

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// kapp emits the layer as a group and, for each directly preceding layer and
// each additionally needed resource, one rule for creation and an inverse one
// for deletion.
func (e *Emitter) kapp(i int) map[string]string {
	out := map[string]string{}
	switch {
	case e.first(i):
		out[stamp.ChangeGroup] = e.firstGroup()
	case e.layers[i] >= 0 && !e.plan.Late(i):
		out[stamp.ChangeGroup] = groupName(e.stream.Order.Name + "/" + e.stream.Order.Layers[e.layers[i]].Name)
	}
	if e.alone[i] {
		out[stamp.ChangeGroup+"-one"] = e.groupOf(i)
	}
	for n, group := range e.groupsBefore(i) {
		out[fmt.Sprintf("%s%d", stamp.ChangeRule, 2*n)] = "upsert after upserting " + group
		out[fmt.Sprintf("%s%d", stamp.ChangeRule, 2*n+1)] = "delete before deleting " + group
	}
	return out
}

// groupsBefore returns the groups that come before a resource.
func (e *Emitter) groupsBefore(i int) []string {
	if e.first(i) {
		return nil
	}
	var groups []string
	for _, layer := range e.directNeeds(e.layers[i]) {
		groups = append(groups, groupName(layer))
	}
	if len(groups) == 0 && e.hasFirst {
		groups = append(groups, e.firstGroup())
	}
	for _, need := range e.single(i) {
		if e.stream.Ours[need] {
			groups = append(groups, e.groupOf(need))
		}
	}
	return groups
}

// firstGroup returns the group before everything, and groupOf the group of a
// single resource. No layer name starts with "~".
func (e *Emitter) firstGroup() string { return groupName(e.stream.Order.Name + "/~prerequisites") }

func (e *Emitter) groupOf(i int) string {
	return groupName(e.stream.Order.Name + "/~" + e.stream.Metas[i].ID.String())
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

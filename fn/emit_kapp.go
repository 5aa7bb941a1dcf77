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

// kapp names the layer as a group and adds, for each layer right before, one
// rule for creating and one for deleting, which goes the other way round.
func (e *emitter) kapp(i int) map[string]string {
	out := map[string]string{changeGroup: groupName(e.order.Name + "/" + e.order.Layers[e.waves[i]].Name)}
	for n, need := range e.directNeeds(i) {
		out[fmt.Sprintf("%s%d", changeRule, 2*n)] = "upsert after upserting " + groupName(need)
		out[fmt.Sprintf("%s%d", changeRule, 2*n+1)] = "delete before deleting " + groupName(need)
	}
	return out
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

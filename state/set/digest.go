package set

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/state/history"
)

// DigestAnnotation is a digest of the parent's kinds and namespaces. If it
// does not match, something other than ordapply changed these; without it the
// parent is trusted.
const DigestAnnotation = "ordapply.dev/contents-digest"

// NumberAnnotation is the number of the revision whose run wrote the parent
// last. Each revision records the number that the parent has at least once
// its run writes members: its own, or that of a parent that covered all of
// them already. Until the next revision the set then only loses kinds. So a
// parent with a lower number is older than the revision: a copy of it was
// restored, or a run was killed after it stored the revision and before it
// wrote the parent.
const NumberAnnotation = "ordapply.dev/contents-revision"

// nextNumber returns the number for the next write of the parent; it never
// decreases.
func (s *Set) nextNumber() int { return max(s.live.number, s.revision) }

// contentsDigest returns the digest of a parent's kinds and namespaces.
func contentsDigest(p applyset.Parent) string {
	annotations := p.Annotations()
	sum := sha256.Sum256([]byte(annotations[applyset.GroupKindsAnnotation] + ";" + annotations[applyset.NamespacesAnnotation]))
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:12])
}

// readContents reads the kinds and namespaces of a live parent. It sets
// edited when ordapply did not write them so.
func (s *Set) readContents(live *unstructured.Unstructured) (applyset.Parent, error) {
	parent, err := applyset.ReadParent(live)
	s.vouchers, s.former = history.ReadVouchers(live), readFormer(live)
	s.live.former = s.former.text()
	s.taken = readTaken(live)
	s.live.taken = takenText(s.taken)
	s.live.digest = live.GetAnnotations()[DigestAnnotation]
	s.live.number, _ = strconv.Atoi(live.GetAnnotations()[NumberAnnotation]) // 0 when an older version wrote it
	label := live.GetLabels()[applyset.IDLabel]
	othersTool := parent.Tooling != "" && !isOurs(parent.Tooling)
	if label != "" && label != parent.SetID() || othersTool || s.live.digest == "" {
		return parent, err
	}
	if err != nil || label == "" || parent.Tooling == "" || s.live.digest != contentsDigest(parent) {
		s.damage = parentEdited
	}
	return parent, nil
}

// emptied reports whether a parent of ordapply has an empty group-kinds
// annotation, which ordapply never writes.
func emptied(live *unstructured.Unstructured) bool {
	text, says := live.GetAnnotations()[applyset.GroupKindsAnnotation]
	return says && strings.TrimSpace(text) == "" && live.GetLabels()[applyset.IDLabel] != "" && isOurs(live.GetAnnotations()[applyset.ToolingAnnotation])
}

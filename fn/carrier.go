package fn

import (
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// carrierKind is the kind of the carrier, which is left in the output if the
// second pass does not run. No API server accepts its kind or name.
const carrierKind = "SecondPassMissing"

// twoPassAdvice is the advice for errors in the two passes.
const twoPassAdvice = "list the output of `sortorder carry`, which contains both passes, last under transformers"

func carrierName(order string) string { return order + "_second_pass_missing" }

func isCarrier(m object.Meta) bool {
	group, _ := object.SplitAPIVersion(sortorder.APIVersion)
	return m.Kind == carrierKind && m.Group == group
}

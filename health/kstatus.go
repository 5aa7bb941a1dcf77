package health

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kstatus assesses by the kstatus library, which knows the native kinds and
// reads the condition Ready of all others.
func kstatus(obj *unstructured.Unstructured) (a Assessment) {
	defer func() { // the library uses unchecked type assertions
		if problem := recover(); problem != nil {
			a = Assessment{Verdict: Unknown, Reason: fmt.Sprintf("its status cannot be read: %v", problem), Rule: "kstatus"}
		}
	}()
	result, err := status.Compute(obj)
	if err != nil {
		return Assessment{Verdict: Unknown, Reason: fmt.Sprintf("its status cannot be read: %v", err), Rule: "kstatus"}
	}
	verdicts := map[status.Status]Verdict{
		status.CurrentStatus:     Ready,
		status.InProgressStatus:  Progressing,
		status.FailedStatus:      Failed,
		status.TerminatingStatus: Deleting,
	}
	return Assessment{Verdict: verdicts[result.Status], Reason: result.Message, Rule: "kstatus"}
}

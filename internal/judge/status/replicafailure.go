package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ReplicaFailure returns why the controller of a workload may not create Pods, such as
// "FailedCreate: pods ... is forbidden: exceeded quota"; "" when it may.
func ReplicaFailure(workload *unstructured.Unstructured) string {
	c := Condition(Status(workload), "ReplicaFailure")
	if c["status"] != "True" {
		return ""
	}
	return fmt.Sprintf("%v: %v", c["reason"], c["message"])
}

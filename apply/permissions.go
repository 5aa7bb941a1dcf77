package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/access"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Permissions lists the permissions that Run needs, as far as they are known
// in advance. It makes no request.
func (a Applier) Permissions(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	a = a.withDefaults()
	run := access.Run{DryRun: a.DryRun, NoDiagnosis: a.NoDiagnosis, SkipWait: a.SkipWait, Recreates: mayRecreate, Health: a.Health}
	return run.Permissions(plan, objects, kinds)
}

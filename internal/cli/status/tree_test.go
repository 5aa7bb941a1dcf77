package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// ownedBy returns an object whose name is its uid, with a controller.
func ownedBy(owner, apiVersion, kind, name string, status map[string]any) *unstructured.Unstructured {
	one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "status": status}}
	one.SetName(name)
	one.SetUID(types.UID(name))
	if yes := true; owner != "" {
		one.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(owner), Controller: &yes}})
	}
	return one
}

// A tree has what is not ready, with its Pods, the bad first; many alike share a line; what is
// ready is counted; an empty ReplicaSet is left out, and a circle of owners ends.
func TestTreeOfASet(t *testing.T) {
	running := map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	live, of := map[object.ID]*unstructured.Unstructured{}, owned{}
	var members []member
	for name, verdict := range map[string]health.Verdict{"web": health.Progressing, "fine": health.Ready} {
		deployment := ownedBy("", "apps/v1", "Deployment", name, nil)
		id := kube.Meta(deployment).ID
		live[id], members = deployment, append(members, member{ID: id, Verdict: verdict, Reason: "Replicas: 5/6"})
		of.add(ownedBy(name, "apps/v1", "ReplicaSet", name+"-old", nil))
		of.add(ownedBy(name, "apps/v1", "ReplicaSet", name+"-new", nil))
		for n := range 5 {
			of.add(ownedBy(name+"-new", "v1", "Pod", fmt.Sprintf("%s-%d", name, n), running))
		}
	}
	of.add(ownedBy("web-new", "v1", "Pod", "web-bad", map[string]any{"phase": "Failed", "reason": "Evicted"}))
	of.add(ownedBy("web-bad", "v1", "Pod", "web-new", running)) // forged: it has the uid of the ReplicaSet
	var out strings.Builder
	s := &setStatus{Sections: []section{{Name: "app", Members: members}}}
	require.NoError(t, s.printTree(&out, ownerTree{of, live, time.Unix(0, 0)}))
	_, tree, _ := strings.Cut(out.String(), "\n")
	require.Contains(t, tree, "app: 1/2 ready, Progressing\n")
	require.Contains(t, tree, "\n    ReplicaSet web-new\n      Pod web-bad ")
	require.Regexp(t, `\n      Pod web-bad +phase Failed \(Evicted\)\n`, tree)
	require.Regexp(t, `\n      Pod web-0 and 4 more +ready\n`, tree)
	require.Contains(t, tree, "\n  ready: 1 Deployment, 5 Pods\n")
	require.NotContains(t, tree, "old")
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

type object map[string]any

// createObjects makes the objects of a cluster's installer: the default StorageClass and
// the Nodes.
func (c *cluster) createObjects(ctx context.Context, api *client) error {
	for path, o := range c.objects() {
		err := api.do(ctx, http.MethodPost, path, o, nil)
		if isStatus(err, http.StatusConflict) {
			continue // an earlier try got through
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) objects() func(yield func(string, object) bool) {
	return func(yield func(string, object) bool) {
		if !yield("/apis/storage.k8s.io/v1/storageclasses", storageClass()) {
			return
		}
		for i := range c.Nodes {
			if !yield("/api/v1/nodes", node(fmt.Sprintf("node-%d", i+1))) {
				return
			}
		}
	}
}

// storageClass is the one for claims that name none. Its volumes are made by kube-controller-manager's own hostpath
// provisioner, when the first Pod that uses the claim is scheduled.
func storageClass() object {
	return object{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata": object{
			"name":        "standard",
			"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		"provisioner":       "kubernetes.io/host-path",
		"reclaimPolicy":     "Delete",
		"volumeBindingMode": "WaitForFirstConsumer",
	}
}

// node has no status: kwok gives it one, by the stage node-ready.
func node(name string) object {
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": object{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
	}
}

// unready returns why no Pod can be created and scheduled in a cluster yet; "" if one can.
func (c *cluster) unready(ctx context.Context, api *client) string {
	if err := api.do(ctx, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", nil, nil); err != nil {
		return "the ServiceAccount default/default does not exist"
	}
	var nodes nodeList
	if err := api.do(ctx, http.MethodGet, "/api/v1/nodes", nil, &nodes); err != nil {
		return err.Error()
	}
	ready := 0
	for _, n := range nodes.Items {
		if n.schedulable() {
			ready++
		}
	}
	if ready < c.Nodes {
		return fmt.Sprintf("%d of %d Nodes are ready", ready, c.Nodes)
	}
	return ""
}

// A nodeList has the fields of a NodeList that unready reads.
type nodeList struct {
	Items []nodeState `json:"items"`
}

type nodeState struct {
	Spec struct {
		Taints []struct{} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct{ Type, Status string } `json:"conditions"`
	} `json:"status"`
}

// schedulable: ready, and kube-controller-manager has removed the taint that every new Node gets.
func (n nodeState) schedulable() bool {
	return len(n.Spec.Taints) == 0 && slices.Contains(n.Status.Conditions, struct{ Type, Status string }{"Ready", "True"})
}

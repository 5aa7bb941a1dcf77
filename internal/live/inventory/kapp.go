package inventory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
)

const (
	kappLabel    = "kapp.k14s.io/app"
	kappIdentity = "kapp.k14s.io/identity"
)

// refOfKapp returns the app of an object. A controller copies the label to Pods and
// ReplicaSets, and sometimes the identity: it then names the object that was applied.
func refOfKapp(live *unstructured.Unstructured) (namespace, name string) {
	id, own := kube.Meta(live).ID, live.GetAnnotations()[kappIdentity]
	parts := strings.Split(own, ";")
	if len(parts) < 2 || parts[1] != id.Namespace+"/"+id.Group+"/"+id.Kind+"/"+id.Name {
		return "", ""
	}
	return "", live.GetLabels()[kappLabel]
}

// kappApp is an app as kapp stores it.
type kappApp struct {
	LabelValue string `json:"labelValue"`
	UsedGKs    []struct {
		Group string
		Kind  string
	} `json:"usedGKs"`
	LastChange struct {
		Namespaces []string `json:"namespaces"`
	} `json:"lastChange"`
}

// readKapp finds the app with a label's value, and its objects by the label: kapp has no list
// of them. https://carvel.dev/kapp/docs/latest/state-namespace/
func readKapp(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	apps, err := list(ctx, cluster, schema.GroupKind{Kind: "ConfigMap"}, "", kube.Query{Labels: "kapp.k14s.io/is-app"})
	if err != nil {
		return nil, err
	}
	apps = slices.DeleteFunc(apps, func(config *unstructured.Unstructured) bool {
		app, ok := kappAppOf(config)
		return !ok || app.LabelValue != ref.Name
	})
	config, err := only(apps)
	if err != nil || config == nil {
		return nil, err
	}
	app, _ := kappAppOf(config)
	forget := "kubectl delete configmap -n " + config.GetNamespace() + " "
	found := &Inventory{Ref: ref, Title: "kapp app " + config.GetNamespace() + "/" + config.GetName(), Forget: Remedy{
		Why: "let kapp forget it, and do not run kapp delete, which deletes Pods by the label that they keep",
		Do:  "run " + forget + config.GetName() + " && " + forget + "-l kapp.k14s.io/app-change-app=" + config.GetName(),
	}}
	for _, gk := range app.UsedGKs {
		objects, err := listIn(ctx, cluster, schema.GroupKind(gk), app.LastChange.Namespaces, kube.Query{Labels: kappLabel + "=" + ref.Name, Metadata: true})
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			if ref.Marks(obj) && app.isIn(obj.GetNamespace()) {
				found.Objects = append(found.Objects, kube.Meta(obj).ID)
			}
		}
	}
	return found, nil
}

// kappAppOf returns the app that a ConfigMap stores; false for none.
func kappAppOf(config *unstructured.Unstructured) (kappApp, bool) {
	text, _, _ := unstructured.NestedString(config.Object, "data", "spec")
	var app kappApp
	err := json.Unmarshal([]byte(text), &app)
	return app, err == nil
}

// isIn reports whether the app was deployed to a namespace: the label of an object in another
// one proves nothing, because any writer of that object can write the label.
func (a kappApp) isIn(namespace string) bool {
	return namespace == "" || slices.Contains(a.LastChange.Namespaces, namespace)
}

// listIn lists the objects of a kind in all namespaces, or only in these if the account may
// not list all.
func listIn(ctx context.Context, cluster kube.Reads, gk schema.GroupKind, namespaces []string, query kube.Query) ([]*unstructured.Unstructured, error) {
	all, err := list(ctx, cluster, gk, "", query)
	if !apierrors.IsForbidden(err) {
		return all, err
	}
	for _, namespace := range namespaces {
		some, err := list(ctx, cluster, gk, namespace, query)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

package standin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// trustWebhooks sets the CA bundle of webhooks once their servers run, as
// operators and cert-manager's cainjector do.
func (o *operators) trustWebhooks(ctx context.Context) error {
	var errs []error
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		configurations, err := o.list(ctx, gvr)
		errs = append(errs, err)
		for _, configuration := range configurations {
			errs = append(errs, o.injectBundle(ctx, gvr, configuration.GetName(), o.missingBundles(ctx, configuration)))
		}
	}
	return errors.Join(errs...)
}

// missingBundles returns the paths of the client configurations that have no CA
// bundle and whose servers run.
func (o *operators) missingBundles(ctx context.Context, configuration unstructured.Unstructured) []string {
	var paths []string
	webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for i, w := range webhooks {
		webhook, _ := w.(map[string]any)
		client, _, _ := unstructured.NestedMap(webhook, "clientConfig")
		if o.needsBundle(ctx, client) {
			paths = append(paths, fmt.Sprintf("/webhooks/%d/clientConfig", i))
		}
	}
	return paths
}

// needsBundle reports whether a client configuration needs its CA bundle now.
func (o *operators) needsBundle(ctx context.Context, client map[string]any) bool {
	namespace, _, _ := unstructured.NestedString(client, "service", "namespace")
	name, _, _ := unstructured.NestedString(client, "service", "name")
	return name != "" && client["caBundle"] == nil && o.serves(ctx, namespace, name)
}

// trustConversions does the same for the conversion webhooks of CRDs.
func (o *operators) trustConversions(ctx context.Context) error {
	names, err := o.names(ctx, crds())
	errs := []error{err}
	for _, name := range names {
		if o.asked[name] {
			continue
		}
		crd, err := o.client.Resource(crds()).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		client, found, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook", "clientConfig")
		if !found || client["caBundle"] != nil {
			o.asked[name] = true
			continue
		}
		if o.needsBundle(ctx, client) {
			errs = append(errs, o.injectBundle(ctx, crds(), name, []string{"/spec/conversion/webhook/clientConfig"}))
		}
	}
	return errors.Join(errs...)
}

// injectBundle sets the CA bundle at paths of an object.
func (o *operators) injectBundle(ctx context.Context, resource schema.GroupVersionResource, name string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	var patch []map[string]string
	for _, path := range paths {
		patch = append(patch, map[string]string{"op": "add", "path": path + "/caBundle", "value": base64.StdEncoding.EncodeToString(o.bundle)})
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = o.client.Resource(resource).Patch(ctx, name, types.JSONPatchType, text, metav1.PatchOptions{})
	return err
}

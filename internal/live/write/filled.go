package write

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Some fields of a manifest are placeholders: a controller fills them in. They are sent like
// any other field until another manager owns them. From then on they are left to it, as with
// ordapply.dev/ignore-fields: to send them would be a conflict, and to force it would undo the
// controller's work. A field that the run's manager owns is always sent, because server-side
// apply deletes fields that are no longer sent.

// filledRow is a row of the table of these fields: docs/apply.md explains each under its name.
type filledRow struct {
	name  string
	kinds []schema.GroupKind // nil: all
	// paths returns the paths in a manifest that controllers fill in.
	paths func(s Stream, manifest *unstructured.Unstructured) []string
}

// filledTable returns the table. The writers of each row are named with their source code.
var filledTable = sync.OnceValue(func() []filledRow {
	secret, configMap, claim := schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "PersistentVolumeClaim"}
	role := schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
	return []filledRow{
		// Generators of passwords and certificates, such as open-policy-agent/cert-controller.
		{"empty-secret", []schema.GroupKind{secret}, emptySecretData},
		// The controller of volumes: kubernetes pkg/controller/volume/persistentvolume/pv_controller.go.
		{"bound-volume", []schema.GroupKind{claim}, blankVolumeName},
		// kubernetes pkg/controller/clusterroleaggregation.
		{"aggregated-rules", []schema.GroupKind{role}, aggregatedRules},
		// cert-manager's cainjector, openshift/service-ca-operator pkg/controller/cabundleinjector,
		// and programs that make their own certificates.
		{"ca-bundle", append(webhookKinds(), apiServiceKind(), definitionKind()), caBundles},
		// openshift/service-ca-operator pkg/controller/cabundleinjector/configmap.go.
		{"injected-config", []schema.GroupKind{configMap}, injectedData},
		// The namespace: dapr pkg/operator/operator.go. The name, too: external-secrets
		// pkg/controllers/crds/crds_controller.go.
		{"conversion-service", []schema.GroupKind{definitionKind()}, conversionService},
		// Autoscalers, and argo-rollouts rollout/scale_utils.go.
		{"autoscaled-replicas", nil, scaledReplicas},
	}
})

// filledFields returns the paths of the manifest's fields that controllers fill in.
func (s Stream) filledFields(manifest *unstructured.Unstructured) []fields.Path {
	var paths []string
	for _, row := range filledTable() {
		if row.kinds == nil || slices.Contains(row.kinds, manifest.GroupVersionKind().GroupKind()) {
			paths = append(paths, row.paths(s, manifest)...)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	parsed, _ := fields.Parse(strings.Join(paths, " "))
	return parsed
}

func webhookKinds() []schema.GroupKind {
	const group = "admissionregistration.k8s.io"
	return []schema.GroupKind{{Group: group, Kind: "ValidatingWebhookConfiguration"}, {Group: group, Kind: "MutatingWebhookConfiguration"}}
}

func apiServiceKind() schema.GroupKind {
	return schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
}

func definitionKind() schema.GroupKind {
	return schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// isBlank reports whether a value says nothing: null or "".
func isBlank(value any) bool { return value == nil || value == "" }

// emptySecretData returns the path of a Secret's data if all its values are empty.
func emptySecretData(_ Stream, secret *unstructured.Unstructured) []string {
	for _, field := range []string{"data", "stringData"} {
		entries, _ := secret.Object[field].(map[string]any)
		for _, value := range entries {
			if !isBlank(value) {
				return nil
			}
		}
	}
	return []string{"data"}
}

// blankVolumeName returns the path of a claim's volume if it names none.
func blankVolumeName(_ Stream, claim *unstructured.Unstructured) []string {
	if name, given, _ := unstructured.NestedFieldNoCopy(claim.Object, "spec", "volumeName"); given && isBlank(name) {
		return []string{"spec.volumeName"}
	}
	return nil
}

// aggregatedRules returns the path of the rules of a ClusterRole that others are aggregated to.
func aggregatedRules(_ Stream, role *unstructured.Unstructured) []string {
	if role.Object["aggregationRule"] != nil {
		return []string{"rules"}
	}
	return nil
}

// caBundles returns the paths of the CA bundles of webhooks and APIServices that are empty or
// injected.
func caBundles(_ Stream, manifest *unstructured.Unstructured) []string {
	injected := hasInjectedBundles(manifest)
	isFilled := func(client any) bool {
		config, _ := client.(map[string]any)
		bundle, given := config["caBundle"]
		return given && (injected || isBlankBundle(bundle))
	}
	switch manifest.GroupVersionKind().GroupKind() {
	case apiServiceKind():
		if isFilled(manifest.Object["spec"]) {
			return []string{"spec.caBundle"}
		}
		return nil
	case definitionKind():
		if isFilled(conversionClient(manifest)) {
			return []string{conversionPath + ".caBundle"}
		}
		return nil
	}
	var paths []string
	webhooks, _ := manifest.Object["webhooks"].([]any)
	for _, webhook := range webhooks {
		fields, _ := webhook.(map[string]any)
		if name, ok := fields["name"].(string); ok && isFilled(fields["clientConfig"]) {
			paths = append(paths, fmt.Sprintf("webhooks[name=%q].clientConfig.caBundle", name))
		}
	}
	return paths
}

// isBlankBundle reports whether a CA bundle says nothing. Some generators write an empty line.
func isBlankBundle(bundle any) bool { return isBlank(bundle) || bundle == "Cg==" }

const conversionPath = "spec.conversion.webhook.clientConfig"

// conversionClient returns the clientConfig of a CustomResourceDefinition's conversion webhook.
func conversionClient(definition *unstructured.Unstructured) any {
	client, _, _ := unstructured.NestedFieldNoCopy(definition.Object, strings.Split(conversionPath, ".")...)
	return client
}

// conversionService returns the path of the Service of a conversion webhook whose CA bundle its
// own program sets: the program knows in which namespace it runs.
func conversionService(_ Stream, definition *unstructured.Unstructured) []string {
	client, _ := conversionClient(definition).(map[string]any)
	if client["service"] == nil || !isBlankBundle(client["caBundle"]) || hasInjectedBundles(definition) {
		return nil
	}
	return []string{conversionPath + ".service"}
}

// The annotations by which openshift/service-ca-operator injects its CA bundle.
const (
	serviceCA      = "service.beta.openshift.io/inject-cabundle"
	serviceCAAlpha = "service.alpha.openshift.io/inject-cabundle"
)

// hasInjectedBundles reports whether the annotations of cert-manager or OpenShift make these
// write an object's CA bundles.
func hasInjectedBundles(obj *unstructured.Unstructured) bool {
	annotations := obj.GetAnnotations()
	return annotations["cert-manager.io/inject-ca-from"] != "" || annotations["cert-manager.io/inject-ca-from-secret"] != "" ||
		annotations["cert-manager.io/inject-apiserver-ca"] == "true" || hasServiceCA(obj)
}

func hasServiceCA(obj *unstructured.Unstructured) bool {
	newest, _ := object.Annotation(obj.Object, serviceCA)
	alpha, _ := object.Annotation(obj.Object, serviceCAAlpha)
	return newest == "true" || alpha == "true"
}

// injectedData returns the path of the data of a ConfigMap that gets OpenShift's CA bundle.
func injectedData(_ Stream, configMap *unstructured.Unstructured) []string {
	if hasServiceCA(configMap) {
		return []string{"data"}
	}
	return nil
}

// scaledReplicas returns the path of the replicas of an object that a controller scales.
func scaledReplicas(s Stream, manifest *unstructured.Unstructured) []string {
	if s.isAutoscaled(manifest) {
		return []string{"spec.replicas"}
	}
	return nil
}

// autoscaledTargets returns the targets of the stream's HorizontalPodAutoscalers, of KEDA's
// ScaledObjects (https://keda.sh/docs/latest/reference/scaledobject-spec/), which make
// HorizontalPodAutoscalers, and of Argo's Rollouts that scale down the Deployment that they
// replace.
func autoscaledTargets(manifests map[object.ID]*unstructured.Unstructured) map[object.ID]bool {
	targets := map[object.ID]bool{}
	for id, manifest := range manifests {
		ref, _, _ := unstructured.NestedMap(manifest.Object, "spec", "scaleTargetRef")
		if replaced, _, _ := unstructured.NestedMap(manifest.Object, "spec", "workloadRef"); replaced["scaleDown"] == "onsuccess" || replaced["scaleDown"] == "progressively" {
			ref = replaced
		}
		apiVersion, _ := ref["apiVersion"].(string)
		kind, _ := ref["kind"].(string)
		name, _ := ref["name"].(string)
		switch (schema.GroupKind{Group: id.Group, Kind: id.Kind}) {
		case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}:
		case schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}:
			apiVersion, kind = cmp.Or(apiVersion, "apps/v1"), cmp.Or(kind, "Deployment")
		default:
			continue
		}
		group, _ := object.SplitAPIVersion(apiVersion)
		targets[object.ID{Group: group, Kind: kind, Namespace: id.Namespace, Name: name}] = true
	}
	return targets
}

// isAutoscaled reports whether an autoscaler of the stream scales a manifest's object.
func (s Stream) isAutoscaled(manifest *unstructured.Unstructured) bool {
	return len(s.autoscaled) > 0 && s.autoscaled[kube.Meta(manifest).ID]
}

// keepReplicas sends the live number of replicas if the manifest has none and owner owns the
// field, until the autoscaler owns it. Without it the API server would set the number to 1:
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling
func keepReplicas(body, live *unstructured.Unstructured, owner FieldOwner) {
	replicas, has, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", "replicas")
	given, _, err := unstructured.NestedFieldNoCopy(body.Object, "spec", "replicas")
	if !has || given != nil || err != nil {
		return
	}
	path := fieldpath.MakePathOrDie("spec", "replicas")
	if Owns(owner.OwnFields(live), path) && !Owns(owner.ForeignFields(live), path) {
		_ = unstructured.SetNestedField(body.Object, replicas, "spec", "replicas")
	}
}

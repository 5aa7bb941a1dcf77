package references

import (
	"cmp"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Some resources create Secrets and ConfigMaps that are in no manifest, for
// example a Certificate its Secret. Resources that use one of these need the
// resource that creates it.

// filler is a resource that creates a Secret or ConfigMap.
type filler struct {
	at         int
	gate       ordering.Gate
	rule       ordering.Rule
	everywhere bool     // in all namespaces that namespaces matches
	namespaces selector // empty means all
	named      []string // namespaces in addition to the selector's
	namespace  string   // the only namespace, unless everywhere is set
}

// fillerKind is a kind that creates Secrets or ConfigMaps.
type fillerKind struct {
	kind  string // "Kind.group"
	fills func(r ordering.Resource) (secrets, configMaps []string)
	gate  ordering.Gate
	// everywhere is the path of a namespaceSelector, for kinds that create one
	// in each matching namespace.
	everywhere []string
}

// fillerKinds is the table in docs/ordering.md.
func fillerKinds() []fillerKind {
	name := func(path ...string) func(ordering.Resource) ([]string, []string) {
		return func(r ordering.Resource) ([]string, []string) { return firstName(r, path), nil }
	}
	return []fillerKind{
		{kind: "Certificate.cert-manager.io", fills: only("spec", "secretName"), gate: ordering.Ready},
		{kind: "ExternalSecret.external-secrets.io", fills: externalSecret, gate: ordering.Ready},
		{kind: "ClusterExternalSecret.external-secrets.io", fills: clusterExternalSecret, gate: ordering.Ready, everywhere: []string{"spec", "namespaceSelector"}},
		{kind: "SealedSecret.bitnami.com", fills: name("spec", "template", "metadata", "name"), gate: ordering.Ready},
		{kind: "VaultStaticSecret.secrets.hashicorp.com", fills: only("spec", "destination", "name"), gate: ordering.Ready},
		{kind: "VaultDynamicSecret.secrets.hashicorp.com", fills: only("spec", "destination", "name"), gate: ordering.Ready},
		{kind: "VaultPKISecret.secrets.hashicorp.com", fills: only("spec", "destination", "name"), gate: ordering.Ready},
		{kind: "HCPVaultSecretsApp.secrets.hashicorp.com", fills: only("spec", "destination", "name"), gate: ordering.Ready},
		{kind: "OnePasswordItem.onepassword.com", fills: name(), gate: ordering.Ready},
		{kind: "Bundle.trust.cert-manager.io", fills: bundle, gate: ordering.Ready, everywhere: []string{"spec", "target", "namespaceSelector"}},
		{kind: "ObjectBucketClaim.objectbucket.io", fills: objectBucket, gate: ordering.Ready},
		{kind: "SecretProviderClass." + csiGroup, fills: providedSecrets, gate: ordering.Applied},
	}
}

// fillersByKind returns the table by kind.
func fillersByKind() map[string]fillerKind {
	kinds := map[string]fillerKind{}
	for _, k := range fillerKinds() {
		kinds[k.kind] = k
	}
	return kinds
}

// only returns a function that reads the name at a path.
func only(path ...string) func(ordering.Resource) ([]string, []string) {
	return func(r ordering.Resource) ([]string, []string) {
		if name := String(r.Object, path...); name != "" {
			return []string{name}, nil
		}
		return nil, nil
	}
}

// firstName returns the name at a path, or the resource's own name.
func firstName(r ordering.Resource, path []string) []string {
	if name := String(r.Object, path...); name != "" && len(path) > 0 {
		return []string{name}
	}
	return []string{r.Name}
}

func externalSecret(r ordering.Resource) (secrets, configMaps []string) {
	names := firstName(r, []string{"spec", "target", "name"})
	switch {
	case String(r.Object, "spec", "target", "creationPolicy") == "None":
		return nil, nil
	case String(r.Object, "spec", "target", "manifest", "kind") == "ConfigMap":
		return nil, names
	}
	return names, nil
}

func clusterExternalSecret(r ordering.Resource) (secrets, configMaps []string) {
	spec := Field(r.Object, "spec")
	return []string{cmp.Or(String(spec, "externalSecretSpec", "target", "name"), String(spec, "externalSecretName"), r.Name)}, nil
}

func bundle(r ordering.Resource) (secrets, configMaps []string) {
	if Field(r.Object, "spec", "target", "secret") != nil {
		secrets = []string{r.Name}
	}
	if Field(r.Object, "spec", "target", "configMap") != nil {
		configMaps = []string{r.Name}
	}
	return secrets, configMaps
}

func objectBucket(r ordering.Resource) (secrets, configMaps []string) {
	return []string{r.Name}, []string{r.Name}
}

func providedSecrets(r ordering.Resource) (secrets, configMaps []string) {
	for _, secret := range List(r.Object, "spec", "secretObjects") {
		if name := String(secret, "secretName"); name != "" {
			secrets = append(secrets, name)
		}
	}
	return secrets, nil
}

// addFiller records the Secrets and ConfigMaps that a resource creates.
func (ix *Index) addFiller(i int, r ordering.Resource) {
	if object.IsNative(r.Group) {
		return
	}
	k, is := ix.fillerKinds[r.GroupKind()]
	if !is {
		return
	}
	f := filler{at: i, gate: k.gate, rule: "filled", namespace: r.Namespace}
	if r.Kind == "Certificate" {
		f.rule = "certificate"
	}
	if k.everywhere != nil {
		f.everywhere, f.namespaces, f.named = true, readSelector(Field(r.Object, k.everywhere...)), Texts(Field(r.Object, "spec"), "namespaces")
	}
	secrets, configMaps := k.fills(r)
	for _, name := range secrets {
		ix.fillers["Secret "+name] = append(ix.fillers["Secret "+name], f)
	}
	for _, name := range configMaps {
		ix.fillers["ConfigMap "+name] = append(ix.fillers["ConfigMap "+name], f)
	}
}

// fillersOf returns the resources that create a Secret or ConfigMap.
func (ix *Index) fillersOf(id object.ID) []filler {
	return slices.DeleteFunc(slices.Clone(ix.fillers[id.Kind+" "+id.Name]), func(f filler) bool {
		return !f.everywhere && f.namespace != id.Namespace || f.everywhere && !f.reaches(ix, id.Namespace)
	})
}

// reaches reports whether a filler with a namespaceSelector covers a namespace.
func (f filler) reaches(ix *Index, namespace string) bool {
	if slices.Contains(f.named, namespace) {
		return true
	}
	if f.namespaces.empty() {
		return len(f.named) == 0
	}
	return Webhook{namespaces: f.namespaces}.watches(ix, namespace)
}

const csiGroup = "secrets-store.csi.x-k8s.io"

// providerClass adds an edge from the SecretProviderClass that a volume of the
// secrets store CSI driver names.
func (p *podReader) providerClass(volume any, where string) {
	if String(volume, "csi", "driver") != "secrets-store.csi.k8s.io" {
		return
	}
	name := String(volume, "csi", "volumeAttributes", "secretProviderClass")
	p.need(object.ID{Group: csiGroup, Kind: "SecretProviderClass", Namespace: p.namespace, Name: name}, p.strength, "pod-template", where+" names")
}

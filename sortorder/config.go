package sortorder

// APIVersion and Kind are the apiVersion and kind of a SortOrder in YAML.
const (
	APIVersion = "ordapply.dev/v1alpha1"
	Kind       = "SortOrder"
)

// DefaultName is the name of an order without one: without a configuration, or
// from a ConfigMap.
const DefaultName = "default"

// config is the SortOrder as written. The json tags name its fields, the doc
// tags describe them for editors; decode and Schema read both, so that
// implementation and documentation agree. Package strict explains the other tags.
type config struct {
	APIVersion  string         `json:"apiVersion" doc:"Always ordapply.dev/v1alpha1."`
	Kind        string         `json:"kind" doc:"Always SortOrder."`
	Metadata    metadata       `json:"metadata" open:"true" doc:"The name of the order, which the stamps contain."`
	SortOrder   []selectorSpec `json:"sortOrder" doc:"Selectors; a resource belongs to the first one it matches."`
	TypeOrder   typeOrderSpec  `json:"typeOrder" doc:"The order of kinds within a layer: legacy (kustomize's, the default), helm, fifo (as read), or an object with default, first and last." values:"legacy, helm or fifo"`
	OutputOrder string         `json:"outputOrder" doc:"Where the output has unmatched resources: plan (the default), before the first resource that needs them; precedence, at the position of the unmatched layer." values:"plan or precedence"`
	Layers      []layerSpec    `json:"layers" doc:"The layers that a layer depends on, instead of the one before it in the list."`
	applierFields
	emitSpec
	Strict  bool `json:"strict" doc:"Make a selector that matches nothing an error instead of a warning."`
	Reindex bool `json:"reindex" doc:"With kpt, renumber the resources of each file in the new order."`
	passSpec
}

// applierFields are the fields that only the applier uses.
type applierFields struct {
	Stacks   []Stack           `json:"stacks" doc:"Applications, grouped into stacks. Read by ordapply --order."`
	Timeouts map[string]string `json:"timeouts" doc:"How long resources of a kind may take to become ready: Kind or Kind.group, and a duration. Read by ordapply --order."`
	Health   []HealthRule      `json:"health" doc:"When resources of a kind are ready. Read by ordapply --order."`

	IgnoreFields []IgnoreRule `json:"ignoreFields" doc:"Fields that are left to other field managers once they own them. Read by ordapply --order."`
}

// emitSpec says which other tools the order is written for.
type emitSpec struct {
	Emit      []string `json:"emit" doc:"Also write the order in the annotations of these tools: argocd, kpt, kapp."`
	Overwrite bool     `json:"overwrite" doc:"Let emit replace existing annotations of those tools."`
}

// passSpec says which pass of a build carries the order.
type passSpec struct {
	Carry string `json:"carry" doc:"Two passes of kustomize build: pack in the first, unpack in the second. Written by sortorder carry." values:"pack or unpack"`
	Of    string `json:"of" doc:"With carry: unpack, the name of the order that was packed." values:"the name of the order that was packed"`
}

// metadata holds the fields of an object's metadata that are read. Build tools
// may add others.
type metadata struct {
	Name string `json:"name" doc:"The order's name."`
}

// selectorSpec is an entry of sortOrder.
type selectorSpec struct {
	conditionSpec
	Name      *string `json:"name" doc:"The resource's name as the function receives it."`
	Unmatched bool    `json:"unmatched" doc:"The position of resources that no other selector matches."`
	Layer     string  `json:"layer" doc:"The layer's name. Default: made from the selector, such as tier=data." values:"a name"`
	Gate      string  `json:"gate" doc:"What later layers wait for: ready (the default) or applied." values:"ready or applied"`
	Timeout   string  `json:"timeout" doc:"How long the layer may take to become ready, such as 5m." values:"a duration such as 90s or 5m"`
}

// conditionSpec are conditions on a resource's metadata, except its name.
type conditionSpec struct {
	MatchAnnotations map[string]string `json:"matchAnnotations" for:"annotations" doc:"Annotations that a resource must have."`
	MatchExpressions []requirement     `json:"matchExpressions" doc:"Conditions on annotations."`
	LabelSelector    *labelSelector    `json:"labelSelector" for:"matchLabels labels" write:"labelSelector: {matchLabels: {…}}" doc:"A label selector, as in a Deployment."`
	Group            *string           `json:"group" doc:"The API group; an empty string is the core group."`
	Kind             *string           `json:"kind" doc:"The resource's kind."`
	Namespace        *string           `json:"namespace" doc:"The namespace; an empty string is a resource without one."`
}

// labelSelector has the fields of metav1.LabelSelector.
type labelSelector struct {
	MatchLabels      map[string]string `json:"matchLabels" doc:"Labels that a resource must have."`
	MatchExpressions []requirement     `json:"matchExpressions" doc:"Conditions on labels."`
}

// requirement has the fields of metav1.LabelSelectorRequirement.
type requirement struct {
	Key      string   `json:"key" doc:"The annotation's or label's key."`
	Operator string   `json:"operator" doc:"In, NotIn, Exists or DoesNotExist."`
	Values   []string `json:"values" doc:"The values of In and NotIn."`
}

// layerSpec is an entry of layers.
type layerSpec struct {
	Name      string   `json:"name" doc:"A layer of this order."`
	DependsOn []string `json:"dependsOn" doc:"The layers it depends on: of this order by name, of another as order/layer. Empty: none."`
}

// typeOrderSpec is a name, or a name with kinds moved to the front or the end.
// It has two forms: "helm", or {default: helm, first: [...]}.
type typeOrderSpec struct {
	Default string   `json:"default" doc:"The order that first and last change: legacy, helm or fifo." values:"legacy, helm or fifo"`
	First   []string `json:"first" doc:"Kinds that come first: Kind, Kind.group, or Kind. for the core group."`
	Last    []string `json:"last" doc:"Kinds that come last."`
}

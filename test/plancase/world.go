package plancase

import (
	"fmt"
	"math/rand/v2"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// World is a random stream with a model of the cluster: which resources the API
// server rejects without others, and which become ready only if others exist.
// The model comes from generating the stream, not from package ordering.
type World struct {
	rand      *rand.Rand
	Resources []ordering.Resource
	Options   ordering.Options
	Accepts   map[object.ID][]object.ID // must exist for the API server to accept
	Served    map[object.ID]object.ID   // must be ready for the API server to accept
	Starts    map[object.ID][]object.ID // must exist for it to become ready
	Users     map[object.ID][]object.ID // of claims: one of them must exist
}

// NewWorld returns the world of a seed.
func NewWorld(seed uint64) *World {
	w := &World{
		rand:    rand.New(rand.NewPCG(seed, 7)),
		Accepts: map[object.ID][]object.ID{}, Served: map[object.ID]object.ID{}, Starts: map[object.ID][]object.ID{}, Users: map[object.ID][]object.ID{},
	}
	w.base()
	for i := range 1 + w.rand.IntN(5) {
		w.workload(i)
	}
	w.declare()
	w.place()
	switch w.rand.IntN(8) {
	case 0:
		w.Options.PrerequisiteKinds = []string{"ValidatingWebhookConfiguration", "ConfigMap"}
	case 1:
		w.Options.NoPrerequisites = true
	}
	return w
}

func (w *World) add(apiVersion, kind, namespace, name string, fields map[string]any) object.ID {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	for k, v := range fields {
		obj[k] = v
	}
	r := Resource(obj)
	r.Annotations, r.Labels = map[string]string{}, map[string]string{"name": name}
	w.Resources = append(w.Resources, r)
	return r.ID
}

// base adds resources that workloads may need.
func (w *World) base() {
	if w.rand.IntN(2) == 0 {
		w.add("v1", "Namespace", "", "shop", nil)
	}
	for i := range w.rand.IntN(4) {
		w.in(w.add("v1", "ConfigMap", "shop", fmt.Sprint("c", i), nil))
	}
	for i := range w.rand.IntN(2) {
		spec := map[string]any{}
		if w.rand.IntN(2) == 0 {
			spec["volumeName"] = "v0"
		}
		id := w.add("v1", "PersistentVolumeClaim", "shop", fmt.Sprint("p", i), map[string]any{"spec": spec})
		w.in(id)
		w.Users[id] = nil
		if spec["volumeName"] != nil {
			w.Starts[id] = []object.ID{w.add("v1", "PersistentVolume", "", "v0", nil)}
		}
	}
	if w.rand.IntN(4) == 0 {
		w.in(w.add("networking.k8s.io/v1", "NetworkPolicy", "shop", "deny", map[string]any{"spec": map[string]any{"podSelector": map[string]any{}}}))
	}
	if w.rand.IntN(2) == 0 {
		crd := w.add("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com", map[string]any{
			"spec": map[string]any{
				"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
			},
		})
		for i := range 1 + w.rand.IntN(2) {
			id := w.in(w.add("example.com/v1", "Widget", "shop", fmt.Sprint("w", i), nil))
			w.Served[id] = crd
		}
	}
	if w.rand.IntN(3) == 0 {
		w.in(w.add("v1", "ServiceAccount", "shop", "sa", nil))
		w.add("rbac.authorization.k8s.io/v1", "ClusterRole", "", "role", nil)
		w.add("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "binding", map[string]any{
			"roleRef":  map[string]any{"kind": "ClusterRole", "name": "role"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "sa", "namespace": "shop"}},
		})
	}
}

// in returns the ID in the stream's Namespace, if there is one.
func (w *World) in(id object.ID) object.ID {
	if r := w.Resources[0]; r.Kind == "Namespace" {
		w.Accepts[id] = append(w.Accepts[id], r.ID)
	}
	return id
}

// workload adds a workload that needs some of the existing resources.
func (w *World) workload(i int) {
	var volumes []any
	var starts, claims []object.ID
	spec := map[string]any{"containers": []any{map[string]any{"name": "main"}}}
	for _, r := range w.Resources {
		if w.rand.IntN(3) > 0 {
			continue
		}
		volume := map[string]any{"name": r.Name}
		switch r.Kind {
		case "ConfigMap":
			volume["configMap"] = map[string]any{"name": r.Name, "optional": false}
		case "PersistentVolumeClaim":
			volume["persistentVolumeClaim"] = map[string]any{"claimName": r.Name}
			claims = append(claims, r.ID)
			starts = append(starts, w.Starts[r.ID]...)
		case "ServiceAccount":
			spec["serviceAccountName"] = r.Name
			starts = append(starts, r.ID)
			continue
		default:
			continue
		}
		volumes = append(volumes, volume)
		starts = append(starts, r.ID)
	}
	spec["volumes"] = volumes
	id := w.in(w.add("apps/v1", "Deployment", "shop", fmt.Sprint("d", i), map[string]any{
		"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": fmt.Sprint("d", i)}}, "spec": spec}},
	}))
	w.Starts[id] = starts
	for _, claim := range claims {
		w.Users[claim] = append(w.Users[claim], id)
	}
	if w.rand.IntN(4) == 0 {
		w.hook(i)
	}
}

// hook adds a webhook for the custom resources of a workload.
func (w *World) hook(i int) {
	name := fmt.Sprint("d", i)
	service := w.in(w.add("v1", "Service", "shop", name, map[string]any{"spec": map[string]any{"selector": map[string]any{"app": name}}}))
	rule := map[string]any{"apiGroups": []any{"example.com"}, "apiVersions": []any{"*"}, "operations": []any{"*"}, "resources": []any{"*"}}
	if w.rand.IntN(2) == 0 { // for Pods, including its own
		rule["apiGroups"], rule["resources"] = []any{""}, []any{"pods"}
	}
	config := w.add("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", name, map[string]any{"webhooks": []any{map[string]any{
		"name": name, "clientConfig": map[string]any{"service": map[string]any{"namespace": "shop", "name": name}},
		"rules": []any{rule}, "failurePolicy": []any{"Fail", "Ignore"}[w.rand.IntN(2)],
	}}})
	w.Starts[config] = []object.ID{service}
	w.Served[object.ID{Kind: "hook", Name: name}] = config
}

// declare adds random dependencies and change groups.
func (w *World) declare() {
	for i := range w.Resources {
		r := &w.Resources[i]
		if w.rand.IntN(6) == 0 {
			on := w.Resources[w.rand.IntN(len(w.Resources))].ID
			entry := on.Group + "/" + on.Kind + "/" + on.Name
			if on.Namespace != "" {
				entry = on.Group + "/namespaces/" + on.Namespace + "/" + on.Kind + "/" + on.Name
			}
			if w.rand.IntN(2) == 0 {
				entry += "?gate=applied"
			}
			if on != r.ID {
				r.Annotations["ordapply.dev/depends-on"] = entry
			}
		}
		if w.rand.IntN(8) == 0 {
			r.Annotations["kapp.k14s.io/change-group"] = "g" + fmt.Sprint(w.rand.IntN(2))
		}
	}
	for i := range w.Resources {
		if group := "g" + fmt.Sprint(w.rand.IntN(2)); w.rand.IntN(10) == 0 && w.holds("kapp.k14s.io/change-group", group) {
			w.Resources[i].Annotations["kapp.k14s.io/change-rule"] = []string{"upsert after upserting ", "upsert before upserting "}[w.rand.IntN(2)] + group
		}
	}
}

func (w *World) holds(key, value string) bool {
	for _, r := range w.Resources {
		if r.Annotations[key] == value {
			return true
		}
	}
	return false
}

// place adds one of the frames, stacks, or nothing.
func (w *World) place() {
	switch w.rand.IntN(6) {
	case 0, 1:
		w.stamp()
	case 2:
		for i := range w.Resources {
			if w.rand.IntN(2) == 0 {
				w.Resources[i].Annotations["argocd.argoproj.io/sync-wave"] = fmt.Sprint(w.rand.IntN(4) - 1)
			}
		}
	case 3:
		for i := range w.Resources {
			if g := w.rand.IntN(4); g < 3 {
				w.Resources[i].Annotations["helm.sh/resource-group"] = fmt.Sprint("g", g)
				if g > 0 && w.holds("helm.sh/resource-group", fmt.Sprint("g", g-1)) {
					w.Resources[i].Annotations["helm.sh/depends-on/resource-groups"] = fmt.Sprintf(`["g%d"]`, g-1)
				}
			}
		}
	case 4:
		apps := []ordering.App{}
		for a := range 3 {
			digit := fmt.Sprint(a)
			app := ordering.App{Name: "a" + digit}
			if a > 0 && w.rand.IntN(2) == 0 {
				app.DependsOn = []string{"a" + fmt.Sprint(a-1)}
			}
			apps = append(apps, app)
		}
		w.Options.Stacks = []ordering.Stack{{Name: "one", Applications: apps[:1]}, {Name: "two", DependsOn: []string{"one"}, Applications: apps[1:]}}
		w.Options.Stacks[1].Applications[0].DependsOn = nil
		w.Options.ApplicationOf = func(m object.Meta) string {
			switch m.Name[len(m.Name)-1] {
			case '0':
				return "one/a0"
			case '1', '2':
				return "two/a" + m.Name[len(m.Name)-1:]
			}
			return ""
		}
	}
}

func (w *World) stamp() {
	gates := make([]ordering.Gate, 4)
	for i := range gates {
		if w.rand.IntN(5) == 4 {
			gates[i] = ordering.Applied
		}
	}
	rest := w.rand.IntN(4)
	for i := range w.Resources {
		if w.rand.IntN(8) == 0 {
			continue
		}
		wave := w.rand.IntN(4)
		s := stamp.Stamp{Order: "o", Layer: fmt.Sprint("l", wave), Wave: wave, Gate: gates[wave], Unmatched: wave == rest}
		for k, v := range s.Annotations() {
			w.Resources[i].Annotations[k] = v
		}
	}
}

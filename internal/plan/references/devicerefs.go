package references

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

const deviceGroup = "resource.k8s.io"

// resourceClaim adds edges from the ResourceClaim or ResourceClaimTemplate that
// a Pod names, and from the DeviceClasses that it requests.
func (p *podReader) resourceClaim(claim any) {
	where := "resourceClaim " + String(claim, "name")
	p.deviceClaim("ResourceClaim", String(claim, "resourceClaimName"), where)
	p.deviceClaim("ResourceClaimTemplate", String(claim, "resourceClaimTemplateName"), where)
}

func (p *podReader) deviceClaim(kind, name, where string) {
	if name == "" {
		return
	}
	id := object.ID{Group: deviceGroup, Kind: kind, Namespace: p.namespace, Name: name}
	p.need(id, p.strength, "pod-template", where+" names")
	if found, ok := p.ByID[id]; ok {
		for _, class := range deviceClasses(p.Resources[found]) {
			p.need(class, p.strength, "device-class", where+" names "+kind+" "+name+", which requests")
		}
	}
}

// device adds edges from the DeviceClasses that a claim requests.
func (refs *references) device(r ordering.Resource) {
	for _, class := range deviceClasses(r) {
		refs.need(class, graph.Helps, "device-class", "requests")
	}
}

// deviceClasses returns the DeviceClasses that a ResourceClaim or
// ResourceClaimTemplate requests, in the fields of resource.k8s.io/v1 and
// earlier versions.
func deviceClasses(r ordering.Resource) []object.ID {
	if r.Group != deviceGroup {
		return nil
	}
	spec := Field(r.Object, "spec")
	if r.Kind == "ResourceClaimTemplate" {
		spec = Field(spec, "spec")
	}
	var out []object.ID
	add := func(v any, path ...string) {
		if name := String(v, append(path, "deviceClassName")...); name != "" {
			out = append(out, object.ID{Group: deviceGroup, Kind: "DeviceClass", Name: name})
		}
	}
	for _, request := range List(spec, "devices", "requests") {
		add(request)
		add(request, "exactly")
		for _, alternative := range List(request, "firstAvailable") {
			add(alternative)
		}
	}
	return out
}

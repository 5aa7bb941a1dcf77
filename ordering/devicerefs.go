package ordering

import "github.com/ordapply/ordapply/object"

const deviceGroup = "resource.k8s.io"

// resourceClaim is a claim for devices, or the template of one, that a Pod names;
// with the DeviceClasses without which it is not allocated.
func (p *podReader) resourceClaim(claim any) {
	where := "resourceClaim " + str(claim, "name")
	p.deviceClaim("ResourceClaim", str(claim, "resourceClaimName"), where)
	p.deviceClaim("ResourceClaimTemplate", str(claim, "resourceClaimTemplateName"), where)
}

func (p *podReader) deviceClaim(kind, name, where string) {
	if name == "" {
		return
	}
	id := object.ID{Group: deviceGroup, Kind: kind, Namespace: p.namespace, Name: name}
	p.need(id, p.strength, "pod-template", where+" names")
	if found, ok := p.byID[id]; ok {
		for _, class := range deviceClasses(p.resources[found]) {
			p.need(class, p.strength, "device-class", where+" names "+kind+" "+name+", which asks for")
		}
	}
}

// device: the DeviceClasses that a claim for devices asks for come first.
func (refs *references) device(r Resource) {
	for _, class := range deviceClasses(r) {
		refs.need(class, helps, "device-class", "asks for")
	}
}

// deviceClasses are those that a ResourceClaim or ResourceClaimTemplate asks for,
// in the fields of resource.k8s.io/v1 and of the versions before it.
func deviceClasses(r Resource) []object.ID {
	if r.Group != deviceGroup {
		return nil
	}
	spec := at(r.Object, "spec")
	if r.Kind == "ResourceClaimTemplate" {
		spec = at(spec, "spec")
	}
	var out []object.ID
	add := func(v any, path ...string) {
		if name := str(v, append(path, "deviceClassName")...); name != "" {
			out = append(out, object.ID{Group: deviceGroup, Kind: "DeviceClass", Name: name})
		}
	}
	for _, request := range list(spec, "devices", "requests") {
		add(request)
		add(request, "exactly")
		for _, alternative := range list(request, "firstAvailable") {
			add(alternative)
		}
	}
	return out
}

package ordering

import "github.com/ordapply/ordapply/object"

// InStack returns the set of resources of a stack, given its name.
func (p *Plan) InStack(name string) map[object.ID]bool {
	in := map[object.ID]bool{}
	for _, s := range p.Steps {
		for _, l := range s.Layers {
			if at := p.stackOf(l); at >= 0 && p.Layers[at].Name == "stack "+name {
				in[s.ID] = true
			}
		}
	}
	return in
}

// stackOf returns the stack that contains a layer, or -1.
func (p *Plan) stackOf(layer int) int {
	for ; layer >= 0; layer = p.Layers[layer].Within {
		if p.Layers[layer].Kind == StackLayer {
			return layer
		}
	}
	return -1
}

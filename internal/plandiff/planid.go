package plandiff

import (
	"github.com/ordapply/ordapply/object"
)

type planID struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func idInJSON(id object.ID) planID { return planID{id.Group, id.Kind, id.Namespace, id.Name} }

func (id planID) id() object.ID {
	return object.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

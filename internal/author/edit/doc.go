// Package edit changes annotations in streams of manifests and in ResourceLists, and
// sorts their resources, without changing another byte. Input that is laid out plainly is
// edited by lines; a resource with another layout is printed from its YAML nodes, and so
// is a whole stream whose resources cannot be separated by lines.
//
//	input, err := edit.Read(stream)
//	changes := make([]edit.Change, len(input.Metas()))
//	changes[0].Set = map[string]string{"ordapply.dev/layer": "platform/data"}
//	documents, err := input.Texts([]int{1, 0}, changes)
//	text := edit.Join(documents, nil)
package edit

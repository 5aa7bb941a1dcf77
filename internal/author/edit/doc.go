// Package edit changes annotations in streams of YAML documents, and their order, without
// changing another byte. A document whose annotations cannot be changed as text, as in flow
// style or with an anchor on its metadata, is printed from its YAML nodes, and only if it
// changes.
//
//	stream, err := edit.Read(in)
//	changes := make([]edit.Change, len(stream.Metas()))
//	changes[0].Set = map[string]string{"ordapply.dev/layer": "platform/data"}
//	documents, err := stream.Texts([]int{1, 0}, changes)
//	text := edit.Join(documents, nil)
package edit

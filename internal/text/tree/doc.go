// Package tree reads manifests as YAML nodes.
//
// It parses manifests into the YAML nodes of kyaml, which keep comments
// and styles, and prints nodes only as text that parses back to the same content.
//
//	documents, err := tree.ParseAll(stream)
//	body := documents[0].Content[0]
//	tree.SetField(body, "kind", tree.Plain("Deployment"))
//	text, err := tree.Encode(documents[0])
//
// It also splits consecutive JSON values without separators, as `jq
// -c '.items[]'` prints them. YAML requires a line --- between them, and its
// parsers silently stop after the first value.
//
//	parts, err := tree.SplitJSON([]byte(`{"a":1}{"b":2}`)) // {"a":1} and {"b":2}
//
// It also converts text from editors and shells to UTF-8: it decodes
// UTF-16, and removes byte order marks and directives that YAML permits before
// a document and Go parsers reject.
//
//	text, err := tree.Decode(in)
//	stream := tree.NewReader(file)
package tree

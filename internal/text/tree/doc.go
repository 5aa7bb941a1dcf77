// Package yamlnode parses manifests into the YAML nodes of kyaml, which keep comments
// and styles, and prints nodes only as text that parses back to the same content.
//
//	documents, err := yamlnode.ParseAll(stream)
//	body := documents[0].Content[0]
//	yamlnode.SetField(body, "kind", yamlnode.Plain("Deployment"))
//	text, err := yamlnode.Encode(documents[0])
package tree

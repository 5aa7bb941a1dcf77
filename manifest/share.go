package manifest

import "unique"

// share replaces texts that repeat in many manifests by ones that they share: the names of fields,
// and the values of apiVersion, kind and namespace. In a stream of small objects the copies would
// take more memory than what differs.
func share(object map[string]any) {
	shareNames(object)
	shareValues(object, "apiVersion", "kind")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		shareValues(metadata, "namespace")
	}
}

// shareNames shares the names of fields, except in the data of a ConfigMap or a Secret: its names
// are its own.
func shareNames(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			value[shared(name)] = below // it replaces the name, too
			if name != "data" && name != "stringData" && name != "binaryData" {
				shareNames(below)
			}
		}
	case []any:
		for _, item := range value {
			shareNames(item)
		}
	}
}

func shareValues(object map[string]any, names ...string) {
	for _, name := range names {
		if text, ok := object[name].(string); ok {
			object[name] = shared(text)
		}
	}
}

func shared(text string) string { return unique.Make(text).Value() }

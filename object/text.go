package object

// Annotation returns an annotation of a decoded object and whether it has it: "" if it is null or
// not a text. Unlike unstructured's GetAnnotations it copies nothing.
func Annotation(object map[string]any, key string) (value string, has bool) {
	return metadataText(object, "annotations", key)
}

// Label returns a label of a decoded object, as Annotation does.
func Label(object map[string]any, key string) (value string, has bool) {
	return metadataText(object, "labels", key)
}

func metadataText(object map[string]any, field, key string) (value string, has bool) {
	metadata, _ := object["metadata"].(map[string]any)
	texts, _ := metadata[field].(map[string]any)
	found, has := texts[key]
	value, _ = found.(string)
	return value, has
}

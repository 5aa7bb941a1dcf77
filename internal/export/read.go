package export

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is an object in a file of a tree.
type document struct {
	path   string
	object map[string]any
}

// name identifies the object for people: "Deployment shop/web".
func (d document) name() string {
	namespace, name := d.text("metadata", "namespace"), d.text("metadata", "name")
	if namespace != "" && layerOf(d.path) != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(d.text("kind") + " " + name)
}

// id identifies the object among those of a tree.
func (d document) id() string {
	if d.text("metadata", "name") == "" {
		return "file " + d.path
	}
	group, _, ok := strings.Cut(d.text("apiVersion"), "/")
	if !ok {
		group = ""
	}
	return strings.Join([]string{group, d.text("kind"), d.text("metadata", "namespace"), d.text("metadata", "name")}, "/")
}

// at returns the value of a field; nil if it is not there.
func (d document) at(fields ...string) any {
	var value any = d.object
	for _, field := range fields {
		values, _ := value.(map[string]any)
		value = values[field]
	}
	return value
}

// text returns the value of a field that is a text; else "".
func (d document) text(fields ...string) string {
	value, _ := d.at(fields...).(string)
	return value
}

// list returns the objects in a list.
func (d document) list(fields ...string) []map[string]any {
	values, _ := d.at(fields...).([]any)
	var out []map[string]any
	for _, v := range values {
		if item, ok := v.(map[string]any); ok {
			out = append(out, item)
		}
	}
	return out
}

// contents are the objects of a tree, in order of their paths.
type contents struct{ engine, manifests []document }

// read reads the objects of a tree; report says whether what cannot be read is a finding.
func (f *finder) read(files map[string][]byte, report bool) contents {
	var c contents
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			continue
		}
		documents, err := parse(name, files[name])
		if err != nil && report && f.differs[name] {
			f.illegible[name] = true
			f.add(Finding{name, "the file cannot be read: " + err.Error(), "the engine cannot read it either", again})
		}
		if strings.HasPrefix(name, "layers/") {
			c.manifests = append(c.manifests, documents...)
		} else {
			c.engine = append(c.engine, documents...)
		}
	}
	return c
}

// parse returns the objects of a file.
func parse(name string, text []byte) ([]document, error) {
	var out []document
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object map[string]any
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		case len(object) > 0:
			out = append(out, document{name, object})
		}
	}
}

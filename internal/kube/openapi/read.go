// Package openapi finds the fields of manifests that an API server refuses, from the OpenAPI
// schemas that it publishes: as it does itself, with the types of structured-merge-diff.
//
//	types := openapi.Read(ctx, client, map[schema.GroupVersionKind]bool{deployment: true})
//	err := types.Check(manifest) // "the manifest has a field that its kind does not define: spec.replica (did you mean replicas?)"
package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/ordapply/ordapply/internal/activity"
)

// Types are the types of kinds. The zero value has none.
type Types struct {
	of map[schema.GroupVersionKind]typed.ParseableType
}

// patience limits how long schemas are waited for: without them a run goes on.
const patience = 30 * time.Second

// Read reads the types of kinds: with one request for the list of schemas, and one for each
// group and version, unless the client has them. A type that cannot be had is left out.
func Read(ctx context.Context, client openapi.Client, kinds map[schema.GroupVersionKind]bool) Types {
	ctx, done := activity.Start(ctx, "reading the schemas of the API server")
	defer done()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make(chan Types, 1)
	go func() { found <- read(client, kinds) }() // the client takes no context
	select {
	case types := <-found:
		return types
	case <-ctx.Done():
		return Types{}
	}
}

func read(client openapi.Client, kinds map[schema.GroupVersionKind]bool) Types {
	types := Types{of: map[schema.GroupVersionKind]typed.ParseableType{}}
	paths, err := client.Paths()
	if err != nil {
		return types
	}
	wanted := map[schema.GroupVersion][]schema.GroupVersionKind{}
	for kind := range kinds {
		wanted[kind.GroupVersion()] = append(wanted[kind.GroupVersion()], kind)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for version, kinds := range wanted {
		source, published := paths[pathOf(version)]
		if !published {
			continue
		}
		all.Go(func() {
			read := readVersion(source, kinds)
			mu.Lock()
			defer mu.Unlock()
			for kind, one := range read {
				types.of[kind] = one
			}
		})
	}
	all.Wait()
	return types
}

// pathOf returns the path of a group and version below /openapi/v3.
func pathOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.String()
}

// readVersion returns the types of kinds of one group and version; nil if one cannot be read.
func readVersion(source openapi.GroupVersion, kinds []schema.GroupVersionKind) map[schema.GroupVersionKind]typed.ParseableType {
	text, err := source.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil
	}
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if json.Unmarshal(fromComponents(text), &document) != nil {
		return nil
	}
	names := namesOf(document.Components.Schemas, kinds)
	models, err := reachable(document.Components.Schemas, names)
	if err != nil {
		return nil
	}
	types, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	if err != nil {
		return nil
	}
	parser := typed.Parser{Schema: smdschema.Schema{Types: types.Types}}
	out := map[schema.GroupVersionKind]typed.ParseableType{}
	for kind, name := range names {
		out[kind] = parser.Type(name)
	}
	return out
}

// fromComponents returns an OpenAPI document without what API servers publish before its schemas:
// its paths, which are three quarters of the text.
func fromComponents(text []byte) []byte {
	if at := bytes.Index(text, []byte(`,"components":{"schemas":{`)); at >= 0 {
		return slices.Concat([]byte("{"), text[at+1:])
	}
	return text
}

// namesOf returns the names of the schemas of kinds.
func namesOf(schemas map[string]json.RawMessage, kinds []schema.GroupVersionKind) map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	mayBe := func(text []byte) bool {
		return slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return bytes.Contains(text, []byte(strconv.Quote(kind.Kind))) })
	}
	for name, text := range schemas {
		var head struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if !mayBe(text) || json.Unmarshal(text, &head) != nil || len(head.Kinds) != 1 { // several: DeleteOptions and other types of the API itself
			continue
		}
		for _, kind := range kinds {
			if head.Kinds[0] == kind {
				names[kind] = name
			}
		}
	}
	return names
}

// reachable decodes schemas, and those to which they refer.
func reachable(schemas map[string]json.RawMessage, roots map[schema.GroupVersionKind]string) (map[string]*spec.Schema, error) {
	reference := regexp.MustCompile(`"#/components/schemas/([^"]+)"`)
	models := map[string]*spec.Schema{}
	var next []string
	for _, name := range roots {
		next = append(next, name)
	}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if _, done := models[name]; done {
			continue
		}
		model := &spec.Schema{}
		if err := json.Unmarshal(schemas[name], model); err != nil {
			return nil, err
		}
		models[name] = model
		for _, found := range reference.FindAllSubmatch(schemas[name], -1) {
			next = append(next, string(found[1]))
		}
	}
	return models, nil
}

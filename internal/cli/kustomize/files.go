package kustomize

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// files are the files of a kustomization, which kustomize expands without limits. In those
// listed under transformers, a SortOrder names this program as its function.
type files struct {
	filesys.FileSystem
	program   string            // "": a SortOrder does nothing
	asWritten bool              // a SortOrder is a function like others
	seen      map[string][]byte // if not nil, there must be no other files
	texts     map[string][]byte // of the files read, as they are

	transformers map[string]bool // files listed under transformers
	found        bool            // a SortOrder
	remote       bool            // something under transformers, generators or validators that is no file

	repeated map[string]int // bytes that aliases repeat, by file
	total    int            // of repeated
}

func newFiles(program string) *files {
	return &files{
		FileSystem: filesys.MakeFsOnDisk(), program: program,
		texts: map[string][]byte{}, transformers: map[string]bool{}, repeated: map[string]int{},
	}
}

// ReadFile implements filesys.FileSystem. It refuses files whose aliases repeat too much.
func (f *files) ReadFile(name string) ([]byte, error) {
	text, err := f.read(name)
	if err != nil {
		return nil, err
	}
	repeated, err := tree.CheckStream(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.total += repeated - f.repeated[name]
	f.repeated[name] = repeated
	if f.total > limits.StreamAliases {
		return nil, fmt.Errorf("%s: the aliases of this file, and of those before it, expand to more than %d MiB: replace aliases with their values", name, limits.StreamAliases>>20)
	}
	switch {
	case f.asWritten:
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(name)):
		return f.kustomization(filepath.Dir(name), text), nil
	case f.transformers[name]:
		return f.withOwnFunction(text), nil
	}
	return text, nil
}

func (f *files) read(name string) ([]byte, error) {
	if f.seen != nil {
		text, ok := f.seen[name]
		if !ok {
			return nil, errRemote // such as a clone of a repository, in another folder each time
		}
		return text, nil
	}
	text, err := f.FileSystem.ReadFile(name)
	if err == nil {
		f.texts[name] = text
	}
	return text, err
}

// kustomization notes the transformers of a kustomization, and returns it with those that are
// inline changed. Text that kustomize will refuse is returned as it is.
func (f *files) kustomization(folder string, text []byte) []byte {
	documents, err := tree.ParseAll(text)
	if err != nil || len(documents) != 1 {
		return text
	}
	changed := false
	for _, field := range []string{"transformers", "generators", "validators"} {
		list := tree.Field(documents[0].Content[0], field)
		if list == nil {
			continue
		}
		for _, entry := range list.Content {
			text := strings.TrimSpace(entry.Value)
			if inline := strings.ContainsAny(text, "\n{"); !inline {
				path := filepath.Join(folder, entry.Value)
				f.remote = f.remote || !f.Exists(path)
				f.transformers[path] = f.transformers[path] || field == "transformers"
			} else if field == "transformers" {
				own := string(f.withOwnFunction([]byte(entry.Value)))
				changed = changed || own != entry.Value
				entry.Value = own
			}
		}
	}
	if !changed {
		return text
	}
	if own, err := tree.Encode(documents[0]); err == nil {
		return own
	}
	return text
}

// withOwnFunction returns the configuration of transformers with this program as the function
// of each SortOrder.
func (f *files) withOwnFunction(text []byte) []byte {
	documents, err := tree.ParseAll(text)
	if err != nil {
		return text
	}
	var out []byte
	changed := false
	for _, document := range documents {
		if isOwn(document.Content[0]) {
			f.found, changed = true, true
			f.replaceFunction(document.Content[0])
		}
		printed, err := tree.Encode(document)
		if err != nil {
			return text
		}
		out = append(append(out, "---\n"...), printed...)
	}
	if !changed {
		return text
	}
	return out
}

func (f *files) replaceFunction(body *yaml.Node) {
	metadata := tree.Field(body, "metadata")
	if f.program != "" {
		spec := fmt.Sprintf("exec: {path: %q, args: [%s]}\n", f.program, FunctionArgument)
		tree.SetField(tree.Field(metadata, "annotations"), functionAnnotation, tree.Plain(spec))
		return
	}
	name := tree.Field(metadata, "name")
	body.Content = nil // a transformer that adds no annotations
	tree.SetField(body, "apiVersion", tree.Plain(konfig.BuiltinPluginApiVersion))
	tree.SetField(body, "kind", tree.Plain("AnnotationsTransformer"))
	tree.SetField(body, "metadata", metadata)
	metadata.Content = nil
	tree.SetField(metadata, "name", name)
}

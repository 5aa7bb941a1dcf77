package units

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/text/strict"
)

// OptionsFile is the file of a tree that has the options it was exported with.
const OptionsFile = "export.yaml"

// Options are the flags of a tree's export.
type Options struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Options    map[string]any `json:"options"`         // flags: texts, booleans, lists of texts
	Files      []string       `json:"files,omitempty"` // flags that name files, which must be given again
}

// API version and kind of Options.
const (
	optionsVersion = "ordapply.dev/v1alpha1"
	optionsKind    = "Export"
)

// AddOptions adds the options to the tree.
func (t *Tree) AddOptions(options map[string]any, files []string) error {
	text, err := yaml.Marshal(Options{optionsVersion, optionsKind, options, files})
	if err != nil {
		return err
	}
	return t.Add(OptionsFile, append([]byte("# Written by `ordapply export`: the options that it and --check use again.\n"), text...))
}

// ReadOptions reads the options of the tree in a folder. The error is fs.ErrNotExist if
// the folder has none.
func ReadOptions(ctx context.Context, dir string) (Options, error) {
	text, err := readBelow(ctx, dir, OptionsFile)
	if err != nil {
		return Options{}, err
	}
	options, err := parseOptions(text)
	if err != nil {
		return options, errors.Join(fmt.Errorf("%s is not valid", filepath.Join(dir, OptionsFile)), err)
	}
	return options, nil
}

// errNotOptions is about another file of the same name.
var errNotOptions = errors.New("it is not an Export of " + optionsVersion)

func parseOptions(text []byte) (Options, error) {
	var o Options
	document, err := strict.Read(text, "an Export", fmt.Sprintf("apiVersion %s, kind %s and options", optionsVersion, optionsKind))
	if err != nil {
		return o, err
	}
	if !isExport(document) {
		return o, errNotOptions
	}
	return o, strict.Decode(document, &o).Err()
}

// earlierEngine returns the engine of the tree that a folder has; "" if nothing says it.
func earlierEngine(ctx context.Context, dir string) (string, error) {
	o, err := ReadOptions(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotOptions) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	engine, _ := o.Options["to"].(string)
	return engine, nil
}

// isOptions reports whether a text is the options of a tree.
func isOptions(text []byte) bool {
	document, err := strict.Read(text, "", "")
	return err == nil && isExport(document)
}

func isExport(document map[string]any) bool {
	return document["apiVersion"] == optionsVersion && document["kind"] == optionsKind
}

package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/abortable"
	"github.com/ordapply/ordapply/internal/outfile"
)

// Difference is a file in which a folder and a tree differ.
type Difference struct {
	Path string // slash-separated, below the folder
	What string // "missing", "changed" or "not of this order"
}

// Compare returns in what a folder differs from the tree, by path. What other programs
// keep beside the tree's own folders is not looked at.
func (t *Tree) Compare(ctx context.Context, dir string) ([]Difference, error) {
	there, err := t.list(dir)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		if !there[name] {
			out = append(out, Difference{name, "missing"})
			continue
		}
		text, err := abortable.ReadFile(ctx, filepath.Join(dir, filepath.FromSlash(name)), "--output")
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(text, t.Files[name]) {
			out = append(out, Difference{name, "changed"})
		}
		delete(there, name)
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if t.Files[name] == nil {
			out = append(out, Difference{name, "not of this order"})
		}
	}
	return out, nil
}

// Write writes the files that differ, and removes those of an earlier export that this one
// does not have. It returns the differences that there were.
func (t *Tree) Write(ctx context.Context, dir string) ([]Difference, error) {
	differences, err := t.Compare(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, d := range differences {
		text, wanted := t.Files[d.Path]
		if wanted {
			err = outfile.WriteBelow(ctx, dir, d.Path, 0o644, text)
		} else {
			err = outfile.RemoveBelow(dir, d.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return differences, nil
}

// list returns the files below the folders that the tree has in a folder. It refuses a
// folder in which these hold what no export wrote.
func (t *Tree) list(dir string) (map[string]bool, error) {
	files := map[string]bool{}
	for _, top := range t.folders() {
		err := filepath.WalkDir(filepath.Join(dir, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			files[filepath.ToSlash(name)] = true
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(files) == 0 {
		return files, nil
	}
	for name := range t.Files {
		if !strings.HasPrefix(name, "layers/") && files[name] {
			return files, nil // an earlier export's
		}
	}
	return nil, fmt.Errorf("%s has a folder %s that no export wrote: name another folder", dir, strings.Join(t.folders(), " or "))
}

// folders returns the names of the tree's folders.
func (t *Tree) folders() []string {
	tops := map[string]bool{}
	for name := range t.Files {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	}
	return slices.Sorted(maps.Keys(tops))
}

package units

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

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
)

// Read reads the files of an earlier export: below the tree's own folders, and below the
// folder of another engine that the earlier export was for. Files beside these folders are
// ignored. Folders that no export wrote are an error.
func (t *Tree) Read(ctx context.Context, dir string) (map[string][]byte, error) {
	tops, err := t.folders(ctx, dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join(dir, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			files[name], err = readBelow(ctx, dir, name)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(files) == 0 || t.isExport(files) {
		return files, nil
	}
	return nil, fmt.Errorf("%s has files that no export wrote (%s): name another folder", dir, slices.Min(slices.Collect(maps.Keys(files))))
}

// readBelow reads a file of a folder. It follows no symbolic link: the folder may come from
// a pull request.
func readBelow(ctx context.Context, dir, name string) ([]byte, error) {
	if err := files.CheckBelow(dir, name); err != nil {
		return nil, err
	}
	return abortable.ReadFile(ctx, filepath.Join(dir, name), "--output")
}

// isExport reports whether an export wrote files.
func (t *Tree) isExport(files map[string][]byte) bool {
	for name := range files {
		if _, ours := t.Files[name]; name != OptionsFile && ours && !strings.HasPrefix(name, "layers/") {
			return true
		}
	}
	return isOptions(files[OptionsFile])
}

// folders returns the top folders of the tree and of an earlier one.
func (t *Tree) folders(ctx context.Context, dir string) ([]string, error) {
	tops := map[string]bool{}
	for name := range t.Files {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	}
	engine, err := earlierEngine(ctx, dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(engineFolders(), engine) {
		tops[engine] = true
	}
	return slices.Sorted(maps.Keys(tops)), nil
}

// engineFolders lists the folders for the objects of engines, which are named after these.
func engineFolders() []string { return []string{"flux", "argocd"} }

// Difference is a file of a folder that Write would change.
type Difference struct {
	Path   string // slash-separated, below the folder
	Exists bool   // in the folder
	Wanted bool   // in the tree; otherwise Write removes the file
}

// String describes the difference in one line.
func (d Difference) String() string {
	switch {
	case !d.Exists:
		return plain.Line(d.Path + ": missing")
	case !d.Wanted:
		return plain.Line(d.Path + ": not part of the export")
	}
	return plain.Line(d.Path + ": differs from the export")
}

// Compare returns the files that Write would change, sorted by path. It compares the bytes
// of Read's files.
func (t *Tree) Compare(ctx context.Context, dir string) ([]Difference, error) {
	there, err := t.Read(ctx, dir)
	if err != nil {
		return nil, err
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(there)), maps.Keys(t.Files))
	slices.Sort(names)
	var out []Difference
	for _, name := range slices.Compact(names) {
		wanted, isWanted := t.Files[name]
		text, exists := there[name]
		if !isWanted || !exists || !bytes.Equal(wanted, text) {
			out = append(out, Difference{Path: name, Exists: exists, Wanted: isWanted})
		}
	}
	return out, nil
}

// Write writes the files that differ, and removes other files from the tree's folders. It
// returns how many files it changed.
func (t *Tree) Write(ctx context.Context, dir string) (int, error) {
	differences, err := t.Compare(ctx, dir)
	if err != nil {
		return 0, err
	}
	for changed, d := range differences {
		if d.Wanted {
			err = files.WriteBelow(dir, d.Path, 0o644, t.Files[d.Path])
		} else {
			err = files.RemoveBelow(dir, d.Path)
		}
		if err != nil {
			return changed, err
		}
	}
	return len(differences), nil
}

package input

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// maxUnread is the number of files and folders that a search for manifests below a folder
// looks at.
const maxUnread = 10_000

// isManifestFile reports whether a file of a folder is read, by its extension.
func isManifestFile(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))
}

// unreadNote returns a note on the subfolders with manifests of a folder that is read without
// -R, as kubectl reads it; "" if there are none. With --prune, what was applied from them would
// be deleted. It ignores hidden folders and what it cannot read.
func unreadNote(folder string) string {
	entries, _ := os.ReadDir(folder)
	var unread []string
	left := maxUnread
	for _, entry := range entries {
		if below := filepath.Join(folder, entry.Name()); entry.IsDir() && hasManifests(below, &left) {
			unread = append(unread, below)
		}
	}
	switch len(unread) {
	case 0:
		return ""
	case 1:
		return "subfolder " + unread[0] + " has manifests, which are not read: add -R"
	}
	names := plain.Sample(unread, 3, "%d more", func(name string) string { return name })
	last := len(names) - 1
	return "subfolders " + strings.Join(names[:last], ", ") + " and " + names[last] + " have manifests, which are not read: add -R"
}

// hasManifests reports whether a folder that is not hidden, or one below it, has a file of
// manifests. It looks at no more files than are left.
func hasManifests(folder string, left *int) (found bool) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		*left--
		switch {
		case *left < 0:
			return filepath.SkipAll
		case err != nil, entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !entry.IsDir() && isManifestFile(path):
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

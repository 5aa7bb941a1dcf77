package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Files below a folder may come from someone else, such as the author of a pull request.
// Unlike Write, the functions here follow no symbolic link below the folder, and a relative
// folder stays below the working directory.

// CheckBelow returns an error if a file below dir, given by its slash-separated path, is not a
// regular file in real folders. The error is fs.ErrNotExist if it is missing.
func CheckBelow(dir, name string) error {
	root, err := openFolder(dir, false)
	if err != nil {
		return err
	}
	defer root.Close()
	return checkBelow(root, dir, name)
}

// WriteBelow replaces or creates a file below dir atomically, and creates the folders that it
// is in. An existing file keeps its permissions and a new one gets mode.
func WriteBelow(dir, name string, mode fs.FileMode, text []byte) error {
	root, err := openFolder(dir, true)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkBelow(root, dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = replaceBelow(root, name, mode, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// RemoveBelow removes a file below dir, and the folders that are empty without it.
func RemoveBelow(dir, name string) error {
	root, err := openFolder(dir, false)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkBelow(root, dir, name); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil {
		return err
	}
	for parent := path.Dir(name); parent != "." && root.Remove(parent) == nil; {
		parent = path.Dir(parent)
	}
	return nil
}

// openFolder opens a folder for access to files below it.
func openFolder(dir string, create bool) (*os.Root, error) {
	if !filepath.IsLocal(dir) {
		if create {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
		}
		return os.OpenRoot(dir)
	}
	working, err := os.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	defer working.Close()
	if create {
		err = working.MkdirAll(dir, 0o755)
	}
	var root *os.Root
	if err == nil {
		root, err = working.OpenRoot(dir)
	}
	if info, outside := os.Stat(dir); err != nil && !errors.Is(err, fs.ErrPermission) && outside == nil && info.IsDir() {
		return nil, fmt.Errorf("folder %s: a symbolic link leads out of the working directory: use the path that it leads to", dir)
	}
	return root, err
}

// checkBelow checks each part of the path of a file.
func checkBelow(root *os.Root, dir, name string) error {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, err := root.Lstat(at)
		isFile := i == len(parts)-1
		switch shown := filepath.Join(dir, at); {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link: delete it, and export again", shown)
		case isFile && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file: delete it, and export again", shown)
		case !isFile && !info.IsDir():
			return fmt.Errorf("%s is not a folder: delete it, and export again", shown)
		}
	}
	return nil
}

// replaceBelow writes a temporary file in the folder of a file and renames it.
func replaceBelow(root *os.Root, name string, mode fs.FileMode, text []byte) (err error) {
	temporary := path.Join(path.Dir(name), ".ordapply-"+rand.Text()+".tmp")
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temporary))
		}
	}()
	was, _ := root.Lstat(name)
	if err = fill(file, was, mode, text); err != nil {
		return err
	}
	return root.Rename(temporary, name)
}

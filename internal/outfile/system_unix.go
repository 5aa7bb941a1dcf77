//go:build unix

package outfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// keepOwner gives a file the owner of the one that it replaces. Only root may do
// that; for others the file becomes theirs, as with any editor.
func keepOwner(file *os.File, was fs.FileInfo) {
	if stat, ok := was.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// duplicate is one more descriptor for an open file of this process; nil where the
// path is that of another process.
func duplicate(path string) *os.File {
	path = filepath.Clean(path)
	number, err := strconv.Atoi(filepath.Base(path))
	if folder := filepath.Dir(path); err != nil || folder != "/dev/fd" && folder != "/proc/self/fd" {
		return nil
	}
	copied, err := syscall.Dup(number)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(copied), path)
}

//go:build unix

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// keepOwner sets the owner of a file to the replaced file's. Only root may do so; otherwise
// the file belongs to the user, as with any editor.
func keepOwner(file *os.File, was fs.FileInfo) {
	if stat, ok := was.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// duplicate returns a duplicate of an open descriptor of this process; nil if
// the path belongs to another process.
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

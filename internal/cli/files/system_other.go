//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner does nothing on systems without file owners.
func keepOwner(*os.File, fs.FileInfo) {}

// duplicate returns nil on systems where open files have no path.
func duplicate(string) *os.File { return nil }

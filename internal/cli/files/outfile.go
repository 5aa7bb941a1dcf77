package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fifoTimeout is how long Write retries a FIFO without a reader, or a full one.
const fifoTimeout = 10 * time.Second

// destination is the target of a name after following symbolic links.
type destination struct {
	path string
	info fs.FileInfo // nil if the file does not exist
	// descriptor means that the path is one of a process's open files, such as
	// /dev/stdout. It is appended to and never replaced, even if it is a
	// regular file.
	descriptor bool
}

// CheckWritable reports whether Write could write to name, as far as that can be determined
// without writing.
func CheckWritable(name string) error {
	at, err := find(name)
	if err == nil {
		err = at.check()
	}
	return err
}

// Write writes the text to the target of name. A regular or missing file is
// written to a temporary file and renamed, so that a reader sees either the old
// text or the new one; an existing file keeps its permissions and a new one
// gets mode. Symbolic links are followed and kept. Character devices and FIFOs
// are written to. Directories, block devices and sockets are errors. A FIFO
// without a reader is an error after 10 seconds, or when ctx is done.
func Write(ctx context.Context, name string, mode fs.FileMode, text []byte) error {
	at, err := find(name)
	if err != nil {
		return err
	}
	if err := at.check(); err != nil {
		return err
	}
	switch {
	case at.replaceable():
		err = at.replace(mode, text)
	default:
		err = at.send(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// find follows the symbolic links of a name. The last one may point to a file
// that does not exist.
func find(name string) (destination, error) {
	path := name
	for range 40 { // the limit of Linux
		at := destination{path: path, descriptor: isDescriptor(path)}
		link, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, string(filepath.Separator)):
			return at, fmt.Errorf("%s ends in %q and is not a folder", name, filepath.Separator)
		case errors.Is(err, fs.ErrNotExist):
			return at, nil
		case err != nil:
			return at, err
		}
		if link.Mode()&fs.ModeSymlink == 0 || at.descriptor {
			at.info, err = os.Stat(path)
			return at, err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return at, err
		}
		if !filepath.IsAbs(target) {
			target = parentOf(path) + string(filepath.Separator) + target
		}
		path = target
	}
	return destination{}, fmt.Errorf("%s: too many symbolic links", name)
}

// parentOf returns the folder of a path as the system resolves it: filepath.Dir
// would resolve "link/.." to the folder that contains link.
func parentOf(path string) string {
	if at := strings.LastIndexByte(path, filepath.Separator); at >= 0 {
		return path[:at+1]
	}
	return "."
}

// isDescriptor reports whether a path is one of a process's open files.
func isDescriptor(path string) bool {
	folder := filepath.Dir(filepath.Clean(path))
	if folder == "/dev/fd" {
		return true
	}
	process, ok := strings.CutPrefix(folder, "/proc/")
	return ok && strings.HasSuffix(process, "/fd")
}

// replaceable reports whether the file is replaced by a new one.
func (at destination) replaceable() bool {
	return !at.descriptor && (at.info == nil || at.info.Mode().IsRegular())
}

// check returns an error for types of files that cannot be written, and for
// files in missing folders.
func (at destination) check() error {
	if at.info == nil {
		folder := parentOf(at.path)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("folder %s does not exist", filepath.Clean(folder))
		}
		return nil
	}
	switch mode := at.info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%s is a folder: name a file", at.path)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket: name a file", at.path)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return fmt.Errorf("%s is a block device: name a file", at.path)
	case mode&fs.ModeIrregular != 0:
		return fmt.Errorf("%s is not a regular file: name another", at.path)
	}
	return nil
}

// replace writes a temporary file in the same folder and renames it.
func (at destination) replace(mode fs.FileMode, text []byte) (err error) {
	file, err := os.CreateTemp(parentOf(at.path), ".ordapply-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err = fill(file, at.info, mode, text); err != nil {
		return err
	}
	return os.Rename(file.Name(), at.path)
}

// fill writes and closes a file that will replace another; was is nil if there is none.
func fill(file *os.File, was fs.FileInfo, mode fs.FileMode, text []byte) error {
	if was != nil {
		mode = was.Mode().Perm()
		keepOwner(file, was)
	}
	_, err := file.Write(text)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// send writes to a device, FIFO or descriptor. Opening neither blocks nor
// truncates, since a descriptor's existing content is part of its text.
func (at destination) send(ctx context.Context, text []byte) error {
	until := time.Now().Add(fifoTimeout)
	for {
		file, err := at.open()
		if err == nil {
			return sendTo(ctx, file, text, until)
		}
		if !errors.Is(err, syscall.ENXIO) || at.info.Mode()&fs.ModeNamedPipe == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no program reads this FIFO: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(until) {
			return fmt.Errorf("no program reads this FIFO; waited %s", fifoTimeout)
		}
	}
}

// open opens the target. For a regular file that this process has open it
// shares the file offset, so that later output follows the text.
func (at destination) open() (*os.File, error) {
	if at.descriptor && at.info.Mode().IsRegular() {
		if file := duplicate(at.path); file != nil {
			return file, nil
		}
	}
	return os.OpenFile(at.path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
}

func sendTo(ctx context.Context, file *os.File, text []byte, until time.Time) error {
	_ = file.SetWriteDeadline(until) // files without deadlines, such as regular ones, do not block
	defer context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now()) })()
	_, err := file.Write(text)
	return errors.Join(err, file.Close())
}

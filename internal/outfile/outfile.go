// Package outfile writes the files that flags name, such as --out FILE. A file
// appears whole or not at all; a device, a FIFO or a descriptor gets the text and
// stays what it is.
//
//	if err := outfile.Check(name); err != nil { … } // before the work
//	err := outfile.Write(ctx, name, 0o600, text)    // after it
package outfile

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

// patience is how long a FIFO is tried that has no reader, or a full one.
const patience = 10 * time.Second

// place is what a name leads to when all symbolic links are followed.
type place struct {
	path string
	info fs.FileInfo // nil: no file is there yet
	// descriptor: the path is one of a process's open files, as /dev/stdout is. It is
	// written at its end and never replaced, even where it is a regular file.
	descriptor bool
}

// Check reports whether Write could write to name, as far as that can be known
// without writing.
func Check(name string) error {
	at, err := find(name)
	if err == nil {
		err = at.check()
	}
	return err
}

// Write writes the text to what name leads to. A regular file, or one that does not
// exist, is written beside its place and renamed, so that a reader sees the old text
// or the new one; an existing file keeps its permissions and a new one gets mode. A
// symbolic link stays, and its target is written. A character device or a FIFO is
// written to. Directories, block devices and sockets are refused. A FIFO without a
// reader is an error after 10 seconds, or when ctx ends.
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

// find follows the symbolic links of a name, the last of which may lead to a file
// that does not exist yet.
func find(name string) (place, error) {
	path := name
	for range 40 { // as many as Linux follows
		at := place{path: path, descriptor: isDescriptor(path)}
		link, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, string(filepath.Separator)):
			return at, fmt.Errorf("%s ends in %q and is no folder", name, filepath.Separator)
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
	return place{}, fmt.Errorf("%s: too many symbolic links", name)
}

// parentOf is the folder of a path, as the system sees it: filepath.Dir would take
// "link/.." for the folder that link is in.
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

// replaceable reports whether the place gets a new file.
func (at place) replaceable() bool {
	return !at.descriptor && (at.info == nil || at.info.Mode().IsRegular())
}

// check refuses places that take no text, and names of files in folders that do not
// exist.
func (at place) check() error {
	if at.info == nil {
		folder := parentOf(at.path)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("there is no folder %s", filepath.Clean(folder))
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
		return fmt.Errorf("%s is no regular file: name another", at.path)
	}
	return nil
}

// replace writes a file in the folder of the place and renames it.
func (at place) replace(mode fs.FileMode, text []byte) (err error) {
	file, err := os.CreateTemp(parentOf(at.path), ".ordapply-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if at.info != nil {
		mode = at.info.Mode().Perm()
		keepOwner(file, at.info)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), at.path)
}

// send writes to a device, a FIFO or a descriptor. Opening does not block, and never
// truncates: what a descriptor holds already is part of its text.
func (at place) send(ctx context.Context, text []byte) error {
	until := time.Now().Add(patience)
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
			return fmt.Errorf("no program reads this FIFO; waited %s", patience)
		}
	}
}

// open opens what is written to. A regular file that this process has open already
// shares its position: what is printed later goes behind the text.
func (at place) open() (*os.File, error) {
	if at.descriptor && at.info.Mode().IsRegular() {
		if file := duplicate(at.path); file != nil {
			return file, nil
		}
	}
	return os.OpenFile(at.path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
}

func sendTo(ctx context.Context, file *os.File, text []byte, until time.Time) error {
	_ = file.SetWriteDeadline(until) // what takes none, such as a regular file, does not block
	defer context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now()) })()
	_, err := file.Write(text)
	return errors.Join(err, file.Close())
}

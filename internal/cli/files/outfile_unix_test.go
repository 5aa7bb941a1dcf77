//go:build unix

package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mode(t *testing.T, path string) fs.FileMode {
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func content(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestANewFileGetsItsModeAndAnOldOneKeepsIts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, Write(t.Context(), file, 0o600, []byte("one")))
	require.Equal(t, fs.FileMode(0o600), mode(t, file))
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, Write(t.Context(), file, 0o600, []byte("two")))
	require.Equal(t, fs.FileMode(0o640), mode(t, file))
	require.Equal(t, "two", content(t, file))
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file is left")
}

// A symbolic link is kept, whatever its target.
func TestASymbolicLinkStays(t *testing.T) {
	for name, target := range map[string]string{"file": "there", "dangling": "absent", "folder": "below/there", "chain": "link2", "up": "elsewhere/../there"} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "below", "inner"), 0o755))
		require.NoError(t, os.Symlink(filepath.Join(dir, "below", "inner"), filepath.Join(dir, "elsewhere")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), []byte("old"), 0o644))
		require.NoError(t, os.Symlink("there", filepath.Join(dir, "link2")))
		link := filepath.Join(dir, "link")
		require.NoError(t, os.Symlink(target, link))
		require.NoError(t, CheckWritable(link), name)
		require.NoError(t, Write(t.Context(), link, 0o644, []byte("new")), name)
		require.NotZero(t, mode(t, link)&fs.ModeSymlink, name)
		require.Equal(t, "new", content(t, link), name)
		if name == "up" {
			require.Equal(t, "new", content(t, filepath.Join(dir, "below", "there")), "as the system follows the link")
			require.Equal(t, "old", content(t, filepath.Join(dir, "there")))
		}
	}
}

func TestWhatTakesNoTextIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "tofolder")))
	short, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	defer os.RemoveAll(short)
	socket, err := net.Listen("unix", filepath.Join(short, "socket"))
	require.NoError(t, err)
	defer socket.Close()
	for path, why := range map[string]string{
		dir:                              "is a folder",
		filepath.Join(dir, "tofolder"):   "is a folder",
		filepath.Join(dir, "no", "file"): "does not exist",
		filepath.Join(dir, "new") + "/":  "is not a folder",
		filepath.Join(dir, "loop"):       "too many symbolic links",
		filepath.Join(short, "socket"):   "is a socket",
	} {
		require.ErrorContains(t, CheckWritable(path), why)
		require.ErrorContains(t, Write(t.Context(), path, 0o644, []byte("x")), why)
	}
}

func TestAFIFOIsWrittenTo(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, CheckWritable(fifo))
	text := bytes.Repeat([]byte("x"), 1<<20) // more than its buffer
	got := make(chan []byte)
	go func() {
		file, err := os.Open(fifo)
		if err != nil {
			panic(err)
		}
		read, _ := io.ReadAll(file)
		got <- read
	}()
	require.NoError(t, Write(t.Context(), fifo, 0o600, text))
	require.Equal(t, len(text), len(<-got))
	require.NotZero(t, mode(t, fifo)&fs.ModeNamedPipe)
}

func TestAFIFOWithoutAReaderEndsWithTheContext(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, Write(ctx, fifo, 0o600, []byte("x")), "no program reads this FIFO")

	stuck, err := os.OpenFile(fifo, os.O_RDWR, 0) // opened, but not reading
	require.NoError(t, err)
	defer stuck.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, Write(ctx, fifo, 0o600, make([]byte, 1<<20)), os.ErrDeadlineExceeded)
}

// The nodes are created in a folder of the test: no device of the machine is
// used.
func TestADeviceIsWrittenToAndStays(t *testing.T) {
	node := func(name string, kind uint32, major, minor int) string {
		path := filepath.Join(t.TempDir(), name)
		err := syscall.Mknod(path, kind|0o600, major<<8|minor)
		if errors.Is(err, fs.ErrPermission) {
			t.Skip("only root makes devices")
		}
		require.NoError(t, err)
		return path
	}
	null, full := node("null", syscall.S_IFCHR, 1, 3), node("full", syscall.S_IFCHR, 1, 7)
	file, err := os.OpenFile(null, os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this file system holds no devices")
	}
	file.Close()
	require.NoError(t, Write(t.Context(), null, 0o600, []byte("x")))
	require.ErrorIs(t, Write(t.Context(), full, 0o600, []byte("x")), syscall.ENOSPC)
	block := node("loop", syscall.S_IFBLK, 7, 250)
	require.ErrorContains(t, CheckWritable(block), "is a block device")
	require.ErrorContains(t, Write(t.Context(), block, 0o600, []byte("x")), "is a block device")
	for _, path := range []string{null, full, block} {
		require.NotZero(t, mode(t, path)&fs.ModeDevice, path)
	}
}

// /dev/stdout is fixed when a process starts, so a child process writes.
func TestStandardOutputIsWrittenTo(t *testing.T) {
	if name := os.Getenv("OUTFILE_WRITE"); name != "" {
		os.Stdout.WriteString("before\n")
		if err := Write(context.Background(), name, 0o644, []byte("text\n")); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("later\n")
		os.Exit(0)
	}
	if _, err := os.Stat("/dev/stdout"); err != nil {
		t.Skip("no /dev/stdout here")
	}
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		child := exec.Command(os.Args[0], "-test.run=^TestStandardOutputIsWrittenTo$")
		child.Env = append(os.Environ(), "OUTFILE_WRITE="+name)
		out, err := child.Output() // a pipe
		require.NoError(t, err, name)
		require.Equal(t, "before\ntext\nlater\n", string(out), name)

		path := filepath.Join(t.TempDir(), "out")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		child = exec.Command(os.Args[0], "-test.run=^TestStandardOutputIsWrittenTo$")
		child.Env, child.Stdout = append(os.Environ(), "OUTFILE_WRITE="+name), file
		require.NoError(t, child.Run(), name)
		_, err = file.WriteString("after\n")
		require.NoError(t, errors.Join(err, file.Close()))
		require.Equal(t, "before\ntext\nlater\nafter\n", content(t, path), "it is still the file that the parent has open")
	}
}

// A reader sees the old or the new text, never a part.
func TestAFileAppearsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.prom")
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<18)}
	require.NoError(t, Write(t.Context(), file, 0o644, []byte(texts[0])))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			if err := Write(context.Background(), file, 0o644, []byte(texts[i%2])); err != nil {
				panic(err)
			}
		}
	}()
	for {
		require.Contains(t, texts, content(t, file))
		select {
		case <-done:
			return
		default:
		}
	}
}

// Below a folder no link is followed, and an existing file keeps its mode.
func TestBelowAFolder(t *testing.T) {
	dir, outside := filepath.Join(t.TempDir(), "deploy"), t.TempDir()
	require.NoError(t, WriteBelow(dir, "layers/a.yaml", 0o644, []byte("one")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "layers", "a.yaml"), 0o640))
	require.NoError(t, WriteBelow(dir, "layers/a.yaml", 0o644, []byte("two")))
	require.Equal(t, "two", content(t, filepath.Join(dir, "layers", "a.yaml")))
	require.Equal(t, fs.FileMode(0o640), mode(t, filepath.Join(dir, "layers", "a.yaml")))
	left, err := os.ReadDir(filepath.Join(dir, "layers"))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file is left")
	require.ErrorIs(t, CheckBelow(dir, "layers/b.yaml"), fs.ErrNotExist)

	require.NoError(t, os.WriteFile(filepath.Join(outside, "victim"), []byte("old"), 0o644))
	require.NoError(t, os.Symlink(filepath.Join(outside, "victim"), filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("layers/a.yaml", filepath.Join(dir, "within")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "dangling")))
	for name, link := range map[string]string{"out": "out", "within": "within", "folder/victim": "folder", "dangling": "dangling"} {
		for _, err := range []error{WriteBelow(dir, name, 0o644, []byte("x")), RemoveBelow(dir, name), CheckBelow(dir, name)} {
			require.ErrorContains(t, err, filepath.Join(dir, link)+" is a symbolic link", name)
		}
	}
	require.Error(t, WriteBelow(dir, "../escaped", 0o644, []byte("x")))
	require.Equal(t, "old", content(t, filepath.Join(outside, "victim")))
	require.Equal(t, "two", content(t, filepath.Join(dir, "layers", "a.yaml")))

	require.NoError(t, RemoveBelow(dir, "layers/a.yaml"))
	require.NoDirExists(t, filepath.Join(dir, "layers"))
}

package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEverythingIsPassedOnInOrder(t *testing.T) {
	var got, want bytes.Buffer
	w := NewWriter(&got)
	for i := range 5000 {
		fmt.Fprintf(w, "line %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, want.String(), got.String())
}

// A reader that makes no progress blocks nothing, and loses nothing if it reads
// later.
func TestSlowReaderDoesNotBlockWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		w := NewWriter(writer)
		begin := time.Now()
		for range 100 {
			fmt.Fprint(w, strings.Repeat("x", writeSize))
		}
		require.Equal(t, begin, time.Now())
		read := make(chan int, 1)
		go func() {
			total := 0
			buffer := make([]byte, writeSize)
			for range 100 {
				time.Sleep(CloseTimeout - time.Second) // slow, but alive
				n, _ := io.ReadFull(reader, buffer)
				total += n
			}
			read <- total
		}()
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, 100*writeSize, <-read)
	})
}

func TestCloseTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		w := NewWriter(writer)
		fmt.Fprint(w, "this is not read")
		begin := time.Now()
		require.EqualError(t, w.Close(t.Context()), "not read for 1m0s: the last 16 bytes are lost")
		require.Equal(t, CloseTimeout, time.Since(begin))
		reader.Close() // lets the goroutine end
	})
}

func TestAnInterruptShortensTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		w := NewWriter(writer)
		fmt.Fprint(w, "this is not read")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		require.Error(t, w.Close(ctx))
		require.Equal(t, 12*time.Second, time.Since(begin))
		reader.Close()
	})
}

func TestClosedPipeIsNoError(t *testing.T) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	reader.Close()
	w := NewWriter(writer)
	fmt.Fprint(w, "first")
	<-w.done
	n, err := fmt.Fprint(w, "second")
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.NoError(t, w.Close(t.Context()))
	require.ErrorIs(t, w.err, syscall.EPIPE)
}

func TestAFullDiskIsAnError(t *testing.T) {
	w := NewWriter(full{})
	fmt.Fprint(w, "first")
	require.EqualError(t, w.Close(t.Context()), "no space left on device")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOneWriterPerFile(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/both")
	require.NoError(t, err)
	again, err := os.OpenFile(file.Name(), os.O_WRONLY, 0)
	require.NoError(t, err)
	out, errs := Pair(file, again)
	require.Same(t, out, errs)
	fmt.Fprintln(out, "one")
	fmt.Fprintln(errs, "two")
	require.NoError(t, out.Close(t.Context()))
	require.NoError(t, errs.Close(t.Context()))
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(text))
	out, errs = Pair(file, &bytes.Buffer{})
	require.NotSame(t, out, errs)
}

// Held text is written before the next text, when its time is over, or by Close, unless it was
// dropped.
func TestHeldText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		w := NewWriter(&got)
		shows := func(want string) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, want, got.String())
			got.Reset()
		}
		w.Hold([]byte("first\n"), time.Second)
		fmt.Fprint(w, "")
		shows("")
		fmt.Fprintln(w, "second")
		shows("first\nsecond\n")
		require.False(t, w.Drop(), "it is written")

		w.Hold([]byte("dropped\n"), time.Second)
		require.True(t, w.Drop())
		require.False(t, w.Drop())
		time.Sleep(2 * time.Second)
		shows("")

		w.Hold([]byte("late\n"), time.Second)
		time.Sleep(2 * time.Second)
		shows("late\n")
		require.False(t, w.Drop())

		w.Hold([]byte("last\n"), time.Second)
		require.NoError(t, w.Close(t.Context()))
		shows("last\n")
	})
}

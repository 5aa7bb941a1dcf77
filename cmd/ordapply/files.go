package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// maxFile bounds what is read of a file that a flag names, beside manifests.
const maxFile = 256 << 20

// readFile reads a file that a flag names. It may be a FIFO that no program writes to,
// or be on a file server that does not answer: the end of ctx ends the wait.
func readFile(ctx context.Context, name, flag string) ([]byte, error) {
	return bounded(ctx, "reading "+name+" ("+flag+")", func(context.Context) ([]byte, error) {
		var text []byte
		err := visitFile(name, func(_ string, file io.Reader) (err error) {
			text, err = io.ReadAll(io.LimitReader(file, maxFile+1))
			return err
		})
		if len(text) > maxFile {
			return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
		}
		return text, err
	})
}

// visitFile opens a file. It may wait without end, so it is called in bounded alone.
func visitFile(name string, visit func(name string, file io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return visit(name, file)
}

package main

import (
	"bytes"
	"errors"
	"io"
	"runtime"
)

// readAll reads r to the end. It frees its intermediate buffers, which for
// large streams would be most of the process's memory.
func readAll(r io.Reader) ([]byte, error) {
	var parts [][]byte
	for {
		part := make([]byte, 256<<10)
		n, err := io.ReadFull(r, part)
		parts = append(parts, part[:n])
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			whole := bytes.Join(parts, nil)
			parts = nil
			runtime.GC()
			return whole, nil
		case err != nil:
			return nil, err
		}
	}
}

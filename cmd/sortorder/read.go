package main

import (
	"bytes"
	"errors"
	"io"
	"runtime"
)

// readAll reads to the end and leaves no smaller buffers behind it: for large
// streams they would be most of the memory that the process takes.
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

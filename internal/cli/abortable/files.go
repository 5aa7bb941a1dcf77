package abortable

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/ordapply/ordapply/internal/limits"
)

// VisitFile opens a file. It may block forever, so call it only within Run.
func VisitFile(name string, visit func(name string, file io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return visit(name, file)
}

// ReadAll reads a file of limited size. It may block forever, so call it only within Run.
func ReadAll(name string) ([]byte, error) {
	var text []byte
	err := VisitFile(name, func(_ string, file io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(file, limits.File+1))
		return err
	})
	if len(text) > limits.File {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, limits.File>>20)
	}
	return text, err
}

// ReadFile reads a file that a flag names. It returns when ctx is done, even if the file is a
// FIFO without a writer or on a file server that does not answer.
func ReadFile(ctx context.Context, name, flag string) ([]byte, error) {
	return Run(ctx, "reading "+name+" ("+flag+")", func(context.Context) ([]byte, error) { return ReadAll(name) })
}

package flags

import (
	"context"
	"fmt"
	"io"

	"gpfit/fit/problem"
	"gpfit/internal/arrow"
	"gpfit/internal/dataset"
	"gpfit/internal/parquet"
	"gpfit/table"
)

// Formats returns the table formats that the command reads besides text and NumPy's.
func Formats() []table.Format { return []table.Format{parquet.Format(), arrow.Format()} }

// ReadTable reads a table with all formats. If ctx is done first, it returns ctx's error.
func ReadTable(ctx context.Context, path string, stdin io.Reader, o dataset.Options) (problem.Data, error) {
	o.Formats = Formats()
	return Await(ctx, path, func() (problem.Data, error) { return dataset.Read(path, stdin, o) })
}

// Await calls read, which reads the input called name, in a goroutine. If ctx is done first,
// because a pipe or a terminal gives nothing, it returns ctx's error.
func Await[T any](ctx context.Context, name string, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		if name == "-" {
			name = "standard input"
		}
		return none, fmt.Errorf("interrupted while reading %s: %w", name, ctx.Err())
	}
}

package flags

import (
	"context"
	"fmt"
)

// Await calls read, which reads the input called name, and returns its results. When ctx
// is done it returns ctx's error without waiting for read: a pipe may have no writer, or
// one that never ends. The caller must not touch data that an abandoned read still uses.
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

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// poll is the interval at which a pipe without a reader is checked.
	poll = 20 * time.Millisecond
	// grace is the time that a reader has once the context is done.
	grace = 2 * time.Second
)

// writeDirectly writes to a file that is not regular. It waits for the reader of a
// pipe until ctx is done.
func writeDirectly(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := openDirectly(ctx, path)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now().Add(grace)) })
	defer stop()
	err = errors.Join(write(f), f.Close())
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted, and nothing reads from this pipe any more: %w", path, ctx.Err())
	}
	return err
}

// openDirectly opens without blocking, so that a signal ends the wait.
func openDirectly(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: nothing reads from this pipe: %w", path, ctx.Err())
		case <-time.After(poll):
		}
	}
}

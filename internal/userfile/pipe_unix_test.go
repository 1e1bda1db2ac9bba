//go:build unix

package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gpfit/internal/testcheck"
)

// TestPipe: no door but Stream waits for the writer of a pipe, not even if the pipe takes a file's place after it was looked at.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	testcheck.Do(t, syscall.Mkfifo(pipe, 0o600))
	_, opened := Open(pipe, os.O_RDONLY)
	_, within := Within(filepath.Dir(pipe), pipe, os.O_RDONLY)
	_, later := still(os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	for _, err := range []error{opened, within, later} {
		if e, is := errors.AsType[*KindError](err); !is || e.Kind != "a pipe" {
			t.Errorf("%v", err)
		}
	}
}

package atomicfile

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	put := func(text string, fail error) error {
		return Write(t.Context(), path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fail
		})
	}
	testcheck.Do(t, put("one", nil))
	boom := errors.New("boom")
	if err := put("two", boom); !errors.Is(err, boom) {
		t.Fatalf("error %v, want boom", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "one" {
		t.Errorf("after a failure the file holds %q", text)
	}
	testcheck.Do(t, os.Chmod(path, 0o600))
	testcheck.Do(t, put("three", nil))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want 0600", info.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err == nil {
		testcheck.Do(t, Write(t.Context(), link, func(w io.Writer) error { _, err := io.WriteString(w, "four"); return err }))
		if text, _ := os.ReadFile(path); string(text) != "four" {
			t.Errorf("through a link the file holds %q", text)
		}
		os.Remove(link)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files left, want 1: %v", len(entries), entries)
	}
	if err := Write(t.Context(), dir, func(io.Writer) error { return nil }); err == nil {
		t.Error("a directory was replaced")
	}
	if err := Write(t.Context(), filepath.Join(dir, "no", "such"), func(io.Writer) error { return nil }); err == nil {
		t.Error("a file in a missing directory was written")
	}
}

// TestPipe checks that writing waits for the reader of a pipe until the context is
// done, and that the pipe stays a pipe.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("no mkfifo: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	write := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	if err := Write(ctx, path, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	read := make(chan string)
	go func() { text, _ := os.ReadFile(path); read <- string(text) }()
	if err := Write(t.Context(), path, write); err != nil || <-read != "text" {
		t.Fatalf("error %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, error %v: the pipe was replaced", info, err)
	}
}

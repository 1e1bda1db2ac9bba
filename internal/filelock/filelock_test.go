package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// open opens the file at path again, as another process would.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f := testcheck.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestTry checks that an exclusive lock excludes all others, that shared locks
// exclude only exclusive ones, and that both end with Unlock and with the file.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := open(t, path), open(t, path)
	check := func(what string, f *os.File, exclusive bool, want error) {
		t.Helper()
		if err := Try(f, exclusive, 0); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("the first", a, true, nil)
	check("exclusive while exclusive", b, true, ErrBusy)
	check("shared while exclusive", b, false, ErrBusy)
	testcheck.Do(t, Unlock(a))
	check("shared after Unlock", a, false, nil)
	check("shared while shared", b, false, nil)
	check("exclusive while shared", open(t, path), true, ErrBusy)
	a.Close()
	b.Close()
	check("exclusive after both were closed", open(t, path), true, nil)
}

// TestReadWhileLocked checks that a lock does not prevent reading the file.
func TestReadWhileLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	testcheck.Do(t, Try(f, true, 0))
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPatience checks that Try gets a lock that is released in time and gives up one that is not.
func TestPatience(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, waiter := open(t, path), open(t, path)
	testcheck.Do(t, Try(holder, true, 0))
	if err := Try(waiter, true, 3*pollInterval); !errors.Is(err, ErrBusy) {
		t.Errorf("held: %v", err)
	}
	unlocked := make(chan error)
	go func() {
		time.Sleep(2 * pollInterval)
		unlocked <- Unlock(holder)
	}()
	if err := Try(waiter, true, time.Minute); err != nil {
		t.Errorf("freed: %v", err)
	}
	if err := <-unlocked; err != nil {
		t.Error(err)
	}
}

package cuda

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/device"
)

func TestDetail(t *testing.T) {
	root := t.TempDir()
	put := func(path string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("NVRM version:  NVIDIA  555.42\nGCC"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(words string) {
		t.Helper()
		if got := detail(root); !strings.Contains(got, words) {
			t.Errorf("%q, want %q in it", got, words)
		}
	}
	expect("no NVIDIA driver (looked for")
	put("usr/lib64/libcuda.so.1")
	expect("no NVIDIA driver is loaded")
	put("proc/driver/nvidia/version")
	expect("does not compute on GPUs: NVRM version: NVIDIA 555.42")
	if err := os.Remove(filepath.Join(root, "usr/lib64/libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	expect("without libcuda.so.1")
}

func TestOpen(t *testing.T) {
	_, err := Driver{}.Open(context.Background(), "cuda:0", device.Options{})
	if _, ok := err.(*device.UnavailableError); !ok {
		t.Errorf("error %v, want an UnavailableError", err)
	}
}

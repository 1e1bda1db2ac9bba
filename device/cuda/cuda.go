// Package cuda reports NVIDIA GPUs. This version of gpfit does not compute on
// them: the driver says what it found and why the device cannot be used, so
// that `gpfit devices` explains the choice of the CPU.
package cuda

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"gpfit/device"
)

// Driver implements [device.Driver].
type Driver struct{}

// Kind returns "cuda".
func (Driver) Kind() string { return "cuda" }

// Probe looks for the NVIDIA kernel driver and for libcuda.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: "cuda", Detail: detail("/")}}
}

// Open always fails with [*device.UnavailableError].
func (d Driver) Open(ctx context.Context, name string, _ device.Options) (device.Backend, error) {
	return nil, &device.UnavailableError{Device: name, Reason: d.Probe(ctx)[0].Detail}
}

// libraries are where libcuda is found: the loader's usual folders, containers
// and WSL.
var libraries = []string{
	"usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/lib/aarch64-linux-gnu/libcuda.so.1", "usr/lib64/libcuda.so.1",
	"usr/local/nvidia/lib64/libcuda.so.1", "usr/lib/wsl/lib/libcuda.so.1",
}

// detail says what is there below root.
func detail(root string) string {
	version, err := os.ReadFile(filepath.Join(root, "proc/driver/nvidia/version"))
	hasDriver := err == nil
	library := ""
	for _, path := range libraries {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			library = filepath.Join(root, path)
			break
		}
	}
	switch {
	case !hasDriver && library == "":
		return "no NVIDIA driver (looked for /proc/driver/nvidia and libcuda.so.1)"
	case library == "":
		return "NVIDIA driver without libcuda.so.1: " + firstLine(version)
	case !hasDriver:
		return library + " is there but no NVIDIA driver is loaded (and this version of gpfit does not compute on GPUs)"
	}
	return "NVIDIA driver found, but this version of gpfit does not compute on GPUs: " + firstLine(version)
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.Join(strings.Fields(line), " ")
}

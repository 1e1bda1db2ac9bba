//go:build nogpu || !linux || !(amd64 || arm64)

package driver

import "runtime"

// This build cannot use a GPU.

// Supported reports whether this build can use CUDA at all.
const Supported = false

func open() (api, string, *UnavailableError) {
	reason := "this gpfit was built without GPU code (tag nogpu)"
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		reason = "gpfit uses NVIDIA GPUs on Linux (amd64 and arm64) only, not on " + runtime.GOOS + "/" + runtime.GOARCH
	}
	return nil, "", &UnavailableError{Status: Unsupported, Reason: reason}
}

func threadID() int { return 0 }

//go:build !amd64 && !arm64

package workers

import "runtime"

// pause lets other goroutines run, in place of n PAUSE instructions.
func pause(int) { runtime.Gosched() }

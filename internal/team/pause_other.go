//go:build !amd64 && !arm64

package team

import "runtime"

// pause lets other goroutines run, in place of n PAUSE instructions.
func pause(int) { runtime.Gosched() }

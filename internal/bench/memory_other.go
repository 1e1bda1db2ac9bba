//go:build !linux

package bench

import "runtime/debug"

// resetPeak gives unused memory back. There is no peak to reset.
func resetPeak() bool {
	debug.FreeOSMemory()
	return false
}

// peakBytes returns 0, unknown.
func peakBytes() int64 { return 0 }

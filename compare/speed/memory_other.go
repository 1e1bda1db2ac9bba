//go:build !linux

package speed

import "runtime/debug"

// resetPeak returns unused memory to the system. It cannot reset the peak.
func resetPeak() bool {
	debug.FreeOSMemory()
	return false
}

// Package hostmem reports the free memory of the host.
package hostmem

import (
	"errors"
	"os"
	"runtime/debug"
)

// Expect prepares the process for work that holds matrices of the given bytes: garbage then takes at most
// a quarter of the memory in use, and not as much again. A matrix has no pointers, so a collection costs
// little. A variable GOGC decides instead.
func Expect(bytes int64) {
	const large, percent = 32 << 20, 25
	if bytes >= large && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Relax ends what Expect has prepared: garbage takes as much memory as is in use again.
func Relax() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}

// ErrAddressSpace reports a process whose limit on its address space is too low for any
// job. The command line maps it to exit code 12.
var ErrAddressSpace = errors.New("the limit on the address space of this process")

// Package hostmem reports the free memory of the host.
package hostmem

import (
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"
)

var ballast atomic.Value

// Ballast keeps the collector from running all the time while the heap is small. Nobody touches it, so that it takes no memory.
func Ballast() { ballast.Store(make([]byte, 16<<20)) }

// Expect prepares the process for work that holds matrices of the given bytes: if these are more than a 32nd of the free memory, garbage
// takes at most a quarter of the memory in use, and not as much again. That takes up to a tenth of the time of work that
// makes many matrices. A variable GOGC decides instead.
func Expect(bytes int64) {
	const share, percent = 32, 25
	if bytes >= Free()/share && os.Getenv("GOGC") == "" {
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

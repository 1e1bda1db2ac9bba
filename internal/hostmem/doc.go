// Package hostmem reports the free memory of the host.
package hostmem

import "fmt"

// AddressSpaceError reports a process whose limit on its address space is too low for any
// job. The command line maps it to exit code 12.
type AddressSpaceError struct {
	// Left is what the limit leaves, Needed what a small job takes, in bytes.
	Left, Needed int64
}

func (e *AddressSpaceError) Error() string {
	return fmt.Sprintf("the limit on the address space of this process leaves %d MiB, and a small job needs %d MiB: raise it with 'ulimit -v' by %d MiB or more, or set GOMAXPROCS=1",
		e.Left>>20, e.Needed>>20, (e.Needed-e.Left)>>20+1)
}

// Package hostmem reports the free memory of the host.
package hostmem

import "errors"

// ErrAddressSpace reports a process whose limit on its address space is too low for any
// job. The command line maps it to exit code 12.
var ErrAddressSpace = errors.New("the limit on the address space of this process")

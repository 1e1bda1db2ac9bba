//go:build unix

package parentwatch

import "syscall"

// keep leaves a descriptor out of the programs that this one starts.
func keep(descriptor uintptr) { syscall.CloseOnExec(int(descriptor)) }

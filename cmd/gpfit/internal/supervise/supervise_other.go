//go:build !linux

package supervise

import "os"

// Watched returns false: no other process watches this one here.
func Watched() bool { return false }

// Run returns false: the program runs in this process.
func Run([]os.Signal) (int, bool) { return 0, false }

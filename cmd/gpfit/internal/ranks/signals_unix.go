//go:build unix

package ranks

import (
	"os"
	"syscall"
)

// Signals returns the signals besides the usual ones with which a scheduler asks the program to stop cleanly, such as
// sbatch --signal=USR1@60. A launcher passes them on to all processes.
func Signals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }

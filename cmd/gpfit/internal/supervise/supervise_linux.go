// Package supervise runs the program below a process that watches it, where a limit on memory is set (ulimit -v, -d).
//
// The runtime of Go ends a process that the system refuses memory, with a trace and code 2, and nothing
// in the process can prevent it. The process above says what happened in words instead. The runtime writes to descriptor 2, which is a
// file in memory; the program itself writes to a copy of standard error.
package supervise

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/hostmem"
)

// variable has the descriptor of standard error in the program that is watched.
const variable = "GPFIT_WATCHED_STDERR"

// Watched reports whether another process watches this one. It then gives [os.Stderr] the descriptor that it has there.
func Watched() bool {
	descriptor, err := strconv.Atoi(os.Getenv(variable))
	os.Unsetenv(variable)
	if err == nil {
		syscall.CloseOnExec(descriptor)
		os.Stderr = os.NewFile(uintptr(descriptor), "/dev/stderr")
	}
	return err == nil
}

// Run runs the program in a process that this one watches, and returns its exit code. It returns false if no limit on memory
// is set, or if the process cannot be started. A signal of signals goes on to the program.
func Run(signals []os.Signal) (code int, done bool) {
	self, err := os.Executable()
	if err != nil || hostmem.Limits() == "" {
		return 0, false
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would start threads
	if os.Getenv(hostmem.Arenas) != "1" {
		// With one arena for all threads, the C library does not reserve 64 MiB for each. It reads the variable when the program starts.
		os.Setenv(hostmem.Arenas, "1")
		_ = syscall.Exec(self, os.Args, os.Environ())
	}
	runtime.LockOSThread() // the program ends with this thread
	defer runtime.UnlockOSThread()
	file, err := unix.MemfdCreate("stderr", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, false
	}
	descriptor, err := unix.FcntlInt(2, unix.F_DUPFD, 3)
	if err != nil {
		return 0, false
	}
	kills, caught := hostmem.Kills(), make(chan os.Signal, 8)
	signal.Notify(caught, signals...)
	env := append(os.Environ(), variable+"="+strconv.Itoa(descriptor))
	pid, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, uintptr(file)}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		signal.Stop(caught)
		return 0, false
	}
	go func() {
		for s := range caught {
			_ = syscall.Kill(pid, s.(syscall.Signal))
		}
	}()
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	written, _ := io.ReadAll(io.NewSectionReader(os.NewFile(uintptr(file), "stderr"), 0, 1<<20))
	return conclude(status, string(written), hostmem.Kills() > kills), true
}

// conclude returns the exit code of a program that has ended. If memory did not suffice, it says so; any other text of the runtime
// is printed. killed says that the system has killed a process for lack of memory meanwhile.
func conclude(status syscall.WaitStatus, written string, killed bool) int {
	under := hostmem.Limits()
	if killed = killed && status.Signaled() && status.Signal() == syscall.SIGKILL; killed {
		under = "the limit of its control group"
	}
	if killed || lacksMemory(written) {
		fmt.Fprintf(os.Stderr, "gpfit: the system refused memory under %s: raise it, use fewer rows, or set GOMAXPROCS=1; results on the disk are whole, and a fit with a checkpoint or 'gpfit resume' continues\n", under)
		return exit.Device
	}
	fmt.Fprint(os.Stderr, written)
	if status.Signaled() {
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// lacksMemory reports whether the runtime of Go says that memory did not suffice.
func lacksMemory(text string) bool {
	words := []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to reserve", "failed to create new OS thread"}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

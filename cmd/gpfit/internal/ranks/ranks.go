// Package ranks runs the program as ranks of MPI: a launcher such as mpirun starts them. The first
// process, rank 0, runs the command, and the others compute for it.
package ranks

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/method/mpi"
	"gpfit/method/mpi/message"
)

// Main returns the exit code of the program: run's on rank 0, and on all others. A program that belongs to a parent, such as
// a Python process, is its own, even if a launcher has started several of these.
func Main(args []string, owned bool, stderr io.Writer, run func() int) int {
	l := message.Launched()
	apart := slices.ContainsFunc(args, func(a string) bool { return a == "--worker" || strings.HasPrefix(a, "--shard") }) // jobs of a batch may
	if l.Size > 1 && (owned || apart && !asked(args)) {
		os.Unsetenv(l.Launcher)
		return Main(args, owned, stderr, run)
	}
	if l.Rank > 0 {
		return serve(args, stderr)
	}
	code := run()
	if err := mpi.End(code); err != nil && code == 0 {
		messages.Error(stderr, fmt.Errorf("%d processes of %d wait for MPI: %w", l.Size-1, l.Size, err), true)
		return exit.Device
	}
	return code
}

// serve computes for rank 0. Signals are for rank 0, which decides when the program ends.
func serve(args []string, stderr io.Writer) int {
	signal.Ignore(append(Signals(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	code, err := mpi.Serve()
	if err == nil {
		return code
	}
	if !asked(args) { // rank 0 says so
		return exit.Usage
	}
	host, _ := os.Hostname()
	messages.Error(stderr, fmt.Errorf("rank %d on %s: %w", message.Launched().Rank, host, err), true)
	return exit.Device
}

// asked reports whether the command seems to ask for the method.
func asked(args []string) bool {
	return os.Getenv("GPFIT_METHOD") == mpi.Name || slices.ContainsFunc(args, func(a string) bool { return a == mpi.Name || a == "--method="+mpi.Name })
}

// Check returns an error if a launcher has started several processes and a command has another method, which computes on
// one of them.
func Check(method string) error {
	l := message.Launched()
	if l.Size == 1 || method == mpi.Name {
		return nil
	}
	return exit.Usagef("a launcher has started %d processes (%s=%d), but only --method %s computes on all of them: add it if the command computes, or start one process; unset %s to run independent programs, each with files of its own",
		l.Size, l.Launcher, l.Size, mpi.Name, l.Launcher)
}

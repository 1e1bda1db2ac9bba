// Package parentwatch ends the program with the process that started it.
//
// A process that wants this opens a pipe, gives the program its reading end, and names itself and
// the descriptor of that end in a variable: GPFIT_PARENT=PID:DESCRIPTOR. The system closes the
// other end however the process ends. The Python package does so.
package parentwatch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable names the parent.
const Variable = "GPFIT_PARENT"

const (
	// A copy of the pipe's other end in a process that the parent forked holds the pipe open, so
	// the parent's number is looked at, too, this often.
	interval = time.Second
	// patience is how long the program may take to end by itself.
	patience = 3 * time.Second
)

// Follow returns a context that is cancelled when the parent ends, as by SIGTERM. If the program has
// not ended 3 s later, Follow calls exit. Without the variable, ctx is returned. Programs that this
// one starts do not get the variable.
func Follow(ctx context.Context, exit func()) (context.Context, error) {
	text, given := os.LookupEnv(Variable)
	if !given {
		return ctx, nil
	}
	os.Unsetenv(Variable)
	first, second, _ := strings.Cut(text, ":")
	pid, err := strconv.Atoi(first)
	descriptor, bad := strconv.ParseUint(second, 10, 63)
	if err != nil || bad != nil {
		return ctx, fmt.Errorf("environment variable %s=%q: must be PID:DESCRIPTOR; unset it if you start gpfit yourself", Variable, text)
	}
	pipe := os.NewFile(uintptr(descriptor), "parent")
	info, err := pipe.Stat()
	open := err == nil && info.Mode()&os.ModeNamedPipe != 0
	if open {
		keep(pipe.Fd())
	}
	// Output to a parent that has ended is an error, and not the end of the program.
	signal.Ignore(syscall.SIGPIPE)
	ended := make(chan struct{}, 2)
	go func() {
		if open {
			_, _ = io.Copy(io.Discard, pipe) // until the other end closes
			ended <- struct{}{}
		}
		// A wrapper between the two may have closed the descriptor. The file must live then, because
		// its finalizer would close another one that has the number by now.
		<-ctx.Done()
		runtime.KeepAlive(pipe)
	}()
	go func() {
		// Behind a wrapper, or on Windows, where the number stays, the pipe alone tells.
		for os.Getppid() == pid {
			time.Sleep(interval)
			if os.Getppid() != pid {
				ended <- struct{}{}
			}
		}
	}()
	followed, cancel := context.WithCancel(ctx)
	go func() {
		<-ended
		cancel()
		time.Sleep(patience)
		exit()
	}()
	return followed, nil
}

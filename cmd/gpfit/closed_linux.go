package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// shells close a stream on request (>&-), and never open the null device for reading and writing.
var shells = []string{"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh", "fish"}

// bothWays matches the system's description of a stream that is open for reading and writing, whose flags are octal.
var bothWays = regexp.MustCompile(`(?m)^flags:\s*\d*2$`)

// refuseClosed makes reading standard input and writing standard output errors if they were closed when the program started. The
// runtime of Go opens the null device in their place, so that results would be lost in silence.
func refuseClosed() {
	for fd, way := range []int{unix.O_WRONLY, unix.O_RDONLY} {
		if wasClosed(fd) {
			if null, err := unix.Open(os.DevNull, way|unix.O_CLOEXEC, 0); err == nil {
				_ = errors.Join(unix.Dup3(null, fd, 0), unix.Close(null))
			}
		}
	}
}

// wasClosed reports whether a stream is the runtime's null device. A parent can pass on one that looks the same, so the
// parent must be a shell that has another stream itself, or a program without the stream.
func wasClosed(fd int) bool {
	null := func(of string) bool {
		path, _ := os.Readlink(fmt.Sprintf("/proc/%s/fd/%d", of, fd))
		how, _ := os.ReadFile(fmt.Sprintf("/proc/%s/fdinfo/%d", of, fd))
		return path == os.DevNull && bothWays.Match(how)
	}
	parent := fmt.Sprint(os.Getppid())
	name, err := os.ReadFile("/proc/" + parent + "/comm")
	if err != nil || !null("self") || null(parent) {
		return false
	}
	_, err = os.Lstat(fmt.Sprintf("/proc/%s/fd/%d", parent, fd))
	return errors.Is(err, os.ErrNotExist) || err == nil && slices.Contains(shells, strings.TrimSpace(string(name)))
}

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

// shells are programs that close a stream on request (>&-) and never open the null device for reading and writing.
var shells = []string{"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh", "fish"}

// bothWays finds a stream that is open for reading and writing in its description by the system, whose flags are octal.
var bothWays = regexp.MustCompile(`(?m)^flags:\s*\d*2$`)

// refuseClosed makes reading standard input and writing standard output errors if they were closed when the program started. The runtime of Go
// opens the null device in their place, so that results would be lost in silence.
func refuseClosed() {
	for fd, way := range []int{unix.O_WRONLY, unix.O_RDONLY} {
		if !wasClosed(fd) {
			continue
		}
		if null, err := unix.Open(os.DevNull, way|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Dup3(null, fd, 0)
			_ = unix.Close(null)
		}
	}
}

// wasClosed reports whether a stream is the runtime's null device. A parent can pass on another that is as this one, so the
// parent must be a shell, or lack the stream itself.
func wasClosed(fd int) bool {
	var info unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || unix.Fstat(fd, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFCHR || info.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	parent := fmt.Sprintf("/proc/%d/", os.Getppid())
	name, unknown := os.ReadFile(parent + "comm")
	of, err := os.ReadFile(fmt.Sprint(parent, "fdinfo/", fd))
	if unknown != nil || err != nil {
		return unknown == nil && errors.Is(err, os.ErrNotExist)
	}
	path, _ := os.Readlink(fmt.Sprint(parent, "fd/", fd))
	inherited := path == os.DevNull && bothWays.Match(of)
	return !inherited && slices.Contains(shells, strings.TrimSpace(string(name)))
}

//go:build unix

package serve

import (
	"os"

	"golang.org/x/sys/unix"
)

// Own returns standard input and output under descriptors of their own. The null device takes their place, so that a command
// that names /dev/stdout as a file does not write between the messages.
func Own(in, out *os.File) (_, _ *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	var own [2]*os.File
	for k, f := range []*os.File{in, out} {
		number, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, nil, err
		}
		own[k] = os.NewFile(uintptr(number), f.Name())
		if err := unix.Dup2(int(null.Fd()), int(f.Fd())); err != nil {
			return nil, nil, err
		}
	}
	return own[0], own[1], nil
}

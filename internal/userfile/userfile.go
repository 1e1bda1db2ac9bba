// Package userfile opens the files and folders that a user names. No other package of the product
// does, apart from the few that the test of the doors in tools/structure lists.
package userfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// KindError is the cause of an [*os.PathError] where there is something else than a file.
type KindError struct{ Kind string }

func (e *KindError) Error() string { return "is " + e.Kind + ", not a file" }

// Check returns a [*KindError] with its path if there is something at path that is no file, such as a link or a pipe.
func Check(path string) error { return regular(path, os.Lstat) }

// regular returns a [*KindError] unless what look says of a path is a file, or an error.
func regular(path string, look func(string) (os.FileInfo, error)) error {
	if info, err := look(path); err == nil && !info.Mode().IsRegular() {
		return &os.PathError{Op: "open", Path: path, Err: &KindError{Kind(info)}}
	}
	return nil
}

// Kind names what is there, with its article.
func Kind(info os.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode&os.ModeSymlink != 0:
		return "a link"
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Stream opens a file to read it once. It may be a pipe, whose writer Stream waits for.
func Stream(path string) (*os.File, error) { return os.Open(path) }

// Open opens a file with the flags of [os.OpenFile]. What is no file is a [*KindError]: Open waits for no writer of
// a pipe, and opens no device.
func Open(path string, flag int) (*os.File, error) {
	if err := regular(path, os.Stat); err != nil {
		return nil, err
	}
	return still(os.OpenFile(path, flag|syscall.O_NONBLOCK, 0o644))
}

// Within opens a file below the folder dir as [Open] does. It follows no link out of dir, and the file itself must be none.
func Within(dir, path string, flag int) (*os.File, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return still(root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644))
}

// still returns an open file if it is one: another program may have put a pipe there since.
func still(f *os.File, err error) (*os.File, error) {
	if err == nil {
		if err = regular(f.Name(), func(string) (os.FileInfo, error) { return f.Stat() }); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Read returns the contents of a file of at most most bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return All(f, most)
}

// All returns the rest of a file. More than most bytes are an error.
func All(f *os.File, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("is longer than %d MiB", most>>20)}
	}
	return text, err
}

// Begin returns the first bytes of a file, n at most, and none if there is no file.
func Begin(path string, n int) []byte {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	begin := make([]byte, n)
	n, _ = io.ReadFull(f, begin)
	return begin[:n]
}

// Folder returns what is in a folder, sorted by the names.
func Folder(path string) ([]os.DirEntry, error) { return os.ReadDir(path) }

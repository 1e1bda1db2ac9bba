// Package atomicfile writes files completely or not at all: it writes to a
// temporary file next to the target, syncs it and renames it.
package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write calls write with a temporary file's writer and, if it succeeds, renames the
// file to path, replacing any existing file. On any error, path is unchanged and
// the temporary file is removed. Write follows symbolic links, even to files that
// do not exist yet. A new file gets the mode that the umask allows; a replaced file
// keeps its mode. Write writes directly to anything but a regular file (a pipe,
// /dev/stdout); once ctx is done, a pipe without a reader is an error.
func Write(ctx context.Context, path string, write func(io.Writer) error) error {
	target := Resolve(path)
	if s := stream(target); s != nil {
		return write(s)
	}
	mode, exists := os.FileMode(0o666), false
	if info, err := os.Stat(target); err == nil {
		if info.IsDir() {
			return &os.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
		}
		if !info.Mode().IsRegular() {
			return writeDirectly(ctx, target, write)
		}
		mode, exists = info.Mode().Perm(), true
	}
	f, err := createBeside(target, mode)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && exists {
		err = f.Chmod(mode) // regardless of the umask
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	// Sync the folder so that the rename survives a crash. Not every system can do
	// so; ignore a failure.
	if d, err := os.Open(filepath.Dir(target)); err == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// createBeside creates the temporary file, whose permissions never exceed those of
// the target.
func createBeside(target string, mode os.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.tmp%d", filepath.Base(target), rand.Uint32()))
		// The owner may write until the rename, even if the mode forbids it.
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode|0o200)
		if err == nil || !os.IsExist(err) || try == 1000 {
			return f, err
		}
	}
}

// WriteBytes is like [Write] for contents in memory.
func WriteBytes(path string, contents []byte) error {
	return Write(context.Background(), path, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
}

// Resolve follows the symbolic links of path and returns the path that [Write]
// writes to, an absolute path that need not exist. It returns names of the
// process's own streams, such as /dev/stdout, unchanged.
func Resolve(path string) string {
	const most = 40 // limit of links, as in operating systems
	for range most {
		if stream(path) != nil {
			return path
		}
		next, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		return filepath.Join(dir, filepath.Base(absolute))
	}
	return absolute
}

// IsDirect reports whether [Write] writes to path directly because it is one of the
// process's streams or an existing file that is not regular.
func IsDirect(path string) bool {
	target := Resolve(path)
	info, err := os.Stat(target)
	return stream(target) != nil || err == nil && !info.Mode().IsRegular()
}

// stream returns the open file of this process that a path names, or nil. Opening
// it by that name would start again at its first byte.
func stream(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	return nil
}

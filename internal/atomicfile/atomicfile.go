// Package atomicfile writes files that are either whole or not there: to a
// temporary name beside the target, then sync, then rename.
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

// Write calls write with a temporary file's writer and, if it succeeds, moves
// the file to path, replacing what was there. On any error path is as before
// and the temporary file is gone. A symbolic link is followed, also to a file
// that is not there yet. A new file has the mode that the umask leaves, one that
// is replaced keeps its own. What is not a regular file (a pipe, /dev/stdout) is
// written directly; once ctx is done, a pipe without a reader is an error.
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
		err = f.Chmod(mode) // whatever the umask is
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
	// The rename itself must survive a crash too; not every system can sync a
	// folder, so a failure is ignored.
	if d, err := os.Open(filepath.Dir(target)); err == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// createBeside makes the temporary file, which never has more permissions than
// the target will.
func createBeside(target string, mode os.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.tmp%d", filepath.Base(target), rand.Uint32()))
		// The owner may write until the rename, also where the mode forbids it.
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode|0o200)
		if err == nil || !os.IsExist(err) || try == 1000 {
			return f, err
		}
	}
}

// WriteBytes is [Write] for contents that are there already.
func WriteBytes(path string, contents []byte) error {
	return Write(context.Background(), path, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
}

// Resolve follows the symbolic links of path to the place that [Write] writes to,
// an absolute path that need not exist. Names of the process's own streams, such
// as /dev/stdout, are left as they are.
func Resolve(path string) string {
	const most = 40 // links that a system follows
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

// IsDirect says whether [Write] writes to path itself, since it is one of the
// process's streams, or exists and is no regular file.
func IsDirect(path string) bool {
	target := Resolve(path)
	info, err := os.Stat(target)
	return stream(target) != nil || err == nil && !info.Mode().IsRegular()
}

// stream is the open file of this process that a path names, nil if it names
// none: opening it by that name would begin at its first byte again.
func stream(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	return nil
}

// Package atomicfile writes files completely or not at all: it writes to a
// temporary file next to the target, syncs it and renames it. The first write of a process to a folder removes the
// temporary files that killed processes left there.
package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Write calls write with a temporary file's writer and, if it succeeds, renames the file to path,
// replacing any existing file. On any error, path is unchanged and the temporary file is removed.
// Write follows symbolic links, even to files that do not exist yet. A new file gets the mode that
// the umask allows; a replaced file keeps its mode. Write writes directly to anything but a regular
// file (a pipe, /dev/stdout); once ctx is done, a pipe without a reader is an error.
func Write(ctx context.Context, path string, write func(io.Writer) error) error {
	return put(ctx, path, true, write)
}

// Keep is like [Create], for a result that must not be lost: if there is a file at once, it also writes,
// under a name that is free.
func Keep(ctx context.Context, path string, write func(io.Writer) error) error {
	return fill(ctx, path, false, write)
}

// Create is like [Write] but never replaces a file that has contents. It returns an [*ExistsError]
// at once if there is one. If one appears while write runs, Create keeps it, gives the new file a
// name that is free, and returns an [*ExistsError] with that name.
func Create(ctx context.Context, path string, write func(io.Writer) error) error {
	return put(ctx, path, false, write)
}

// Writer returns [Write] if it may replace an existing file, and otherwise [Create].
func Writer(replace bool) func(ctx context.Context, path string, write func(io.Writer) error) error {
	if replace {
		return Write
	}
	return Create
}

// ExistsError reports a file that [Create] did not replace.
type ExistsError struct {
	Path string
	// Saved is the file that holds the new contents instead, "" if nothing was written.
	Saved string
}

func (e *ExistsError) Error() string {
	if e.Saved == "" {
		return e.Path + ": the file exists"
	}
	return fmt.Sprintf("%s: another program wrote this file in the meantime, and gpfit keeps it; the result is in %s", e.Path, e.Saved)
}

// Cause returns the cause of an error of the system, without the operation and the path, and another
// error as it is.
func Cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// Occupied reports whether a regular file with contents is at path, which [Create]
// would not replace.
func Occupied(path string) bool {
	target := Resolve(path)
	info, err := os.Stat(target)
	return stream(target) == nil && err == nil && info.Mode().IsRegular() && info.Size() > 0
}

func put(ctx context.Context, path string, replace bool, write func(io.Writer) error) error {
	if !replace && Occupied(Resolve(path)) {
		return &ExistsError{Path: path}
	}
	return fill(ctx, path, replace, write)
}

func fill(ctx context.Context, path string, replace bool, write func(io.Writer) error) error {
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
	tidy(filepath.Dir(target))
	f, err := createBeside(target, mode)
	if err != nil {
		return err
	}
	defer f.release()
	err = write(f.File)
	if err == nil && exists {
		err = f.Chmod(mode) // regardless of the umask
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if runtime.GOOS == "windows" { // which renames no open file
			f.release()
		}
		err = publish(f.Name(), target, replace)
	}
	var kept *ExistsError
	if err != nil && !errors.As(err, &kept) {
		os.Remove(f.Name())
		return err
	}
	SyncFolder(filepath.Dir(target))
	return err
}

// SyncFolder flushes the names in a folder to disk, so that they survive a failure of the machine. Not
// every system can do so; SyncFolder ignores an error.
func SyncFolder(folder string) {
	if d, err := os.Open(folder); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// Probe checks that [Write] and [Create] can make the file at path.
func Probe(path string) error {
	target := Resolve(path)
	tidy(filepath.Dir(target))
	f, err := createBeside(target, 0o666)
	if err != nil {
		return err
	}
	defer f.release()
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// publish gives a finished temporary file its name.
func publish(temporary, target string, replace bool) error {
	if replace {
		return os.Rename(temporary, target)
	}
	extension := filepath.Ext(strings.TrimSuffix(target, ".gz"))
	if strings.HasSuffix(target, ".gz") {
		extension += ".gz"
	}
	for try := 1; ; try++ {
		name := target
		if try > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(target, extension), try, extension)
		}
		err := publishNew(temporary, name)
		switch {
		case errors.Is(err, os.ErrExist) && try < 1000:
		case err == nil && try > 1:
			return &ExistsError{Path: target, Saved: name}
		default:
			return err
		}
	}
}

// publishNew renames a file unless a file with contents has the name. It reserves the
// name with an empty file, because no system renames so and every one creates so.
func publishNew(temporary, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case err == nil:
		f.Close()
	case !errors.Is(err, os.ErrExist) || Occupied(name):
		return err
	}
	return os.Rename(temporary, name)
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

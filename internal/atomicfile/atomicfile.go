// Package atomicfile writes files that are either whole or not there: to a
// temporary name beside the target, then sync, then rename.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write calls write with a temporary file's writer and, if it succeeds, moves
// the file to path, replacing what was there. On any error path is as before
// and the temporary file is gone. A symbolic link is followed, and what is not
// a regular file (a pipe, /dev/stdout) is written directly.
func Write(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return &os.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
		}
		if !info.Mode().IsRegular() {
			return writeDirectly(path, write)
		}
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// The rename itself must survive a crash too; not every system can sync a
	// folder, so a failure is ignored.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// WriteBytes is [Write] for contents that are there already.
func WriteBytes(path string, contents []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
}

func writeDirectly(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

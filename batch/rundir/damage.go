package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

// inDir returns a path without the run directory.
func (r *Run) inDir(path string) string {
	if inside, err := filepath.Rel(r.Dir, path); err == nil {
		return filepath.ToSlash(inside)
	}
	return path
}

// modelFault says what is wrong with the model of a result in a run directory at a glance, "" if nothing is: it is missing, or
// its checksum differs from the checksum in the record. It reads only the end of the file.
func modelFault(dir, model, want string) string {
	sum, err := gp.Checksum(filepath.Join(dir, filepath.FromSlash(model)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return model + " is missing"
	case err != nil:
		return model + " is damaged: " + err.Error()
	case want != "" && sum != want:
		return model + " is not the model of the record: its checksum is another"
	}
	return ""
}

// ofSystem reports whether the system failed to do something, which says nothing about the contents of a file.
func ofSystem(err error) bool {
	_, is := errors.AsType[syscall.Errno](err)
	return is
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// asideName returns a free name for a damaged file.
func asideName(path string) string {
	name := path + ".damaged"
	for n := 2; exists(name); n++ {
		name = fmt.Sprintf("%s.damaged-%d", path, n)
	}
	return name
}

// SetAside renames a damaged file of a run to a free name that begins with the file's and ".damaged". A file
// that does not exist is no error.
func SetAside(path string) error {
	if err := os.Rename(path, asideName(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// setAsideOther sets a path aside that is no file: a folder, or a link that leads nowhere.
func setAsideOther(path string) error {
	info, err := os.Stat(path)
	lost := errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP)
	if err == nil && !info.Mode().IsRegular() || lost && exists(path) {
		return SetAside(path)
	}
	return nil
}

// copyAside copies the contents of an open file to a free name.
func copyAside(f *os.File, path string) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(asideName(path), text)
}

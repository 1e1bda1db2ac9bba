package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/userfile"
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
	path := filepath.Join(dir, filepath.FromSlash(model))
	if e, no := errors.AsType[*Error](CheckFile(path)); no {
		return model + " " + e.Msg
	}
	sum, err := gp.Checksum(path)
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

// A run from elsewhere can have a link, a pipe or a device in place of a file. Reading or writing one would leave the folder
// of the run, or wait for ever. So all files of a run are opened by openFile, and what is none is set aside.

// openFile opens a file below the folder dir of a run. It follows no link out of dir, and what is no regular file is an
// [*Error].
func openFile(dir, path string, flag int) (*os.File, error) {
	f, err := userfile.Within(dir, path, flag)
	return f, noFile(path, err)
}

// noFile makes an error about what is no file an [*Error].
func noFile(path string, err error) error {
	if e, is := errors.AsType[*userfile.KindError](err); is {
		return &Error{Path: path, Msg: e.Error(), Err: err}
	}
	return err
}

// CheckFile returns an [*Error] if there is something at path that is no file, such as a link or a pipe.
func CheckFile(path string) error { return noFile(path, userfile.Check(path)) }

// readFile reads a file below the folder dir of a run.
func readFile(dir, name string) ([]byte, error) {
	f, err := openFile(dir, filepath.Join(dir, name), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userfile.All(f, mostText)
}

// mostText bounds a file of a run that is read as a whole, in bytes.
const mostText = 1 << 30

// OpenLog opens the log of a job to append to it.
func (r *Run) OpenLog(id string) (*os.File, error) {
	path := r.Path("logs", id)
	if err := setAsideOther(path); err != nil {
		return nil, err
	}
	return openFile(r.Dir, path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

// Page returns the path of the page of a run. What is no file there, such as a link, it sets aside.
func (r *Run) Page() (string, error) {
	path := filepath.Join(r.Dir, "report.html")
	return path, setAsideOther(path)
}

// setAsideOther sets a path aside that is no file: a folder, a link, a pipe.
func setAsideOther(path string) error {
	if CheckFile(path) != nil {
		return SetAside(path)
	}
	return nil
}

// setAsideOthers sets the files of a run aside that are none, apart from the files of jobs, which [Run.Claim] looks at. The
// folders of a run must be folders: a link in place of one is an [*Error].
func setAsideOthers(dir string) error {
	for _, name := range append(slices.Clone(folders), "slurm") {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			return &Error{Path: path, Msg: "is " + userfile.Kind(info) + ", and a run is one folder without links: put the folder itself there, or remove it"}
		}
	}
	for _, name := range append([]string{"lock", "spec.yaml", "report.html"}, manifests...) {
		if err := setAsideOther(filepath.Join(dir, name)); err != nil {
			return err
		}
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

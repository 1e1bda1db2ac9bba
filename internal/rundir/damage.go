package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// modelFault says what is wrong with the model of a result at a glance, "" if nothing is: it is missing, or
// its checksum is not the one of the record. It reads the end of the file alone.
func (r *Run) modelFault(e JobEvent) string {
	if e.Type != Done || e.Model == "" {
		return ""
	}
	sum, err := gp.Checksum(filepath.Join(r.Dir, filepath.FromSlash(e.Model)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return e.Model + " is missing"
	case err != nil:
		return e.Model + " is damaged: " + err.Error()
	case e.ModelSHA256 != "" && sum != e.ModelSHA256:
		return e.Model + " is not the model of the record: its checksum is another"
	}
	return ""
}

// withoutEvents returns the status of a job of whose record nothing is left, as what says. If the job has a
// model, there was more.
func (r *Run) withoutEvents(j PlannedJob, what string) JobStatus {
	if model := r.Path("models", j.ID); exists(model) {
		return JobStatus{State: StateDamaged, About: fmt.Sprintf("%s %s, though there is %s", r.inDir(r.Path("jobs", j.ID)), what, r.inDir(model))}
	}
	return JobStatus{State: StatePending}
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

// setRecordAside copies the record, which has the lock of the job and therefore keeps its file.
func (c *Claim) setRecordAside() error {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(c.file)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(asideName(c.run.Path("jobs", c.job.ID)), text)
}

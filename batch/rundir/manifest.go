package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gpfit/batch/spec"
	"gpfit/internal/atomicfile"
	"gpfit/option"
)

// SchemaVersion is the latest version of the files that this package writes. Only runs with parts have version 2, as
// earlier programs would fit the whole table.
const SchemaVersion = 2

// Manifest is the content of run.json.
type Manifest struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	Name          string    `json:"name,omitempty"`
	Program       string    `json:"program"`
	Created       time.Time `json:"created"`
	// SpecPath is the absolute path of the spec file. SpecSHA256 is the SHA-256 of
	// its content when the run was made.
	SpecPath   string `json:"spec_path"`
	SpecSHA256 string `json:"spec_sha256"`
	// Extra holds options of the command line, which override the spec's.
	Extra  spec.Options `json:"extra,omitzero"`
	Slurm  option.Slurm `json:"slurm,omitzero"`
	Inputs []Input      `json:"inputs"`
	Jobs   []PlannedJob `json:"jobs"`
}

// Input is a file, a folder or a pattern of files that jobs read. Bytes is the total size.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// PlannedJob is a job whose every option is decided.
type PlannedJob struct {
	spec.JobSpec
	// Fingerprint is a hash of everything that the result depends on. A result
	// with another fingerprint belongs to another job.
	Fingerprint string `json:"fingerprint"`
	// N and D are the numbers of training rows and columns, 0 if the data cannot be fitted.
	N int `json:"n"`
	D int `json:"d"`
	// Evaluations is how many values with gradient over all rows are expected to cost as much as the fit; 0 if unknown.
	Evaluations float64 `json:"evaluations,omitempty"`
	// Structure is the cost of the job on the host if another method than dense was chosen for its rows.
	Structure *Structure `json:"structure,omitempty"`
}

// Fits returns the number of jobs of a batch, where each value of a part counts.
func (m *Manifest) Fits() (n int) {
	for _, j := range m.Jobs {
		n += j.Fits()
	}
	return n
}

// Structure is the plan of a method that uses the structure of a table.
type Structure struct {
	Method string `json:"method"`
	Bytes  int64  `json:"bytes"`
	// Operations and Seconds are the cost of a value with gradient on the machine that planned; Seconds is 0 if unknown.
	Operations float64 `json:"operations"`
	Seconds    float64 `json:"seconds,omitempty"`
}

// Run is an open run directory.
type Run struct {
	Dir string
	Manifest
	// Damage says what is wrong with run.json or its copy; "" if nothing is. The other one was read.
	Damage string
}

// Error reports a directory that is not a run, or a damaged run.
type Error struct {
	Path, Msg string
	Err       error
}

func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// manifests are the names of the resolved spec and of its copy.
var manifests = []string{"run.json", "run.copy.json"}

// writeManifests writes the resolved spec to files of dir.
func writeManifests(dir string, m *Manifest, names ...string) error {
	m.Type, m.SchemaVersion = "gpfit run", 1
	if slices.ContainsFunc(m.Jobs, func(j PlannedJob) bool { return j.Each != nil }) {
		m.SchemaVersion = SchemaVersion
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(seal(text, "\n  "), '\n')
	for _, name := range names {
		err = errors.Join(err, atomicfile.WriteBytes(filepath.Join(dir, name), text))
	}
	return err
}

// Open opens a run without a lock, to read it only. If run.json is damaged or missing, Open reads its copy.
// Errors: [*Error].
func Open(dir string) (*Run, error) {
	r, _, err := open(dir)
	return r, err
}

// open opens a run, and returns the name of the file of the two that is to be written again, if any.
func open(dir string) (r *Run, bad string, err error) {
	if !Exists(dir) {
		return nil, "", &Error{Path: dir, Msg: whyNoRun(dir), Err: os.ErrNotExist}
	}
	main, second := readManifest(dir, manifests[0]), readManifest(dir, manifests[1])
	switch {
	case main.whole() && (!second.whole() || !bytes.Equal(main.text, second.text)):
		main.run.Damage = second.fault() + ": " + manifests[0] + " is whole"
		return main.run, manifests[1], nil
	case main.whole():
		return main.run, "", nil
	case second.whole():
		second.run.Damage = main.fault() + ": " + manifests[1] + " is whole"
		return second.run, manifests[0], nil
	case main.err == nil: // from an earlier version
		return main.run, "", nil
	case errors.Is(main.err, os.ErrNotExist):
		return nil, "", second.err
	}
	return nil, "", main.err
}

// manifestFile is run.json or its copy.
type manifestFile struct {
	name string
	run  *Run
	text []byte
	// sealed means that the file has its checksum, which earlier versions did not write.
	sealed bool
	err    error
}

func (f *manifestFile) whole() bool { return f.err == nil && f.sealed }

// fault says what is wrong with a file whose copy is whole.
func (f *manifestFile) fault() string {
	switch {
	case errors.Is(f.err, os.ErrNotExist):
		return f.name + " is missing"
	case f.err != nil:
		return f.err.Error()
	case f.sealed:
		return f.name + " is out of date"
	}
	return f.name + " is damaged: its checksum is missing"
}

// readManifest reads a resolved spec.
func readManifest(dir, name string) *manifestFile {
	f, path := &manifestFile{name: name, run: &Run{Dir: dir}}, filepath.Join(dir, name)
	text, err := readFile(dir, name)
	if e, no := errors.AsType[*Error](err); no {
		f.err = e
		return f
	}
	if err != nil {
		f.err = &Error{Path: path, Msg: "cannot be read: " + atomicfile.Cause(err).Error(), Err: err}
		return f
	}
	f.text = text
	err = f.run.parse(text)
	newer, isNewer := errors.AsType[*Error](err)
	f.sealed = sealMember.Match(text)
	if _, broken := sealed(text); err == nil {
		err = broken
	}
	if isNewer {
		newer.Path, f.err = path, newer
	} else if err != nil {
		f.err = &Error{Path: path, Msg: "is damaged: " + err.Error(), Err: err}
	}
	return f
}

// parse reads run.json.
func (r *Run) parse(text []byte) error {
	if err := json.Unmarshal(text, &r.Manifest); err != nil {
		return errors.New(inWords(err))
	}
	if r.Type != "gpfit run" {
		return fmt.Errorf("its type is %q, not \"gpfit run\"", r.Type)
	}
	if r.SchemaVersion > SchemaVersion || r.SchemaVersion < 1 {
		return &Error{Msg: fmt.Sprintf("has schema version %d, this gpfit reads up to %d: use a newer gpfit", r.SchemaVersion, SchemaVersion)}
	}
	return r.checkJobs()
}

// inWords returns an error of package json without the names of Go's types.
func inWords(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return fmt.Sprintf("a %s is not what belongs at byte %d", e.Value, e.Offset)
		}
		return fmt.Sprintf("%s is a %s, at byte %d", e.Field, e.Value, e.Offset)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it is not JSON at byte %d", e.Offset)
	}
	return "it is not JSON: " + err.Error()
}

// Exists reports whether dir holds a run.
func Exists(dir string) bool {
	return slices.ContainsFunc(manifests, func(name string) bool {
		return exists(filepath.Join(dir, name))
	})
}

// checkJobs checks that every job has its own files, in the run's folders.
func (r *Run) checkJobs() error {
	seen := make(map[string]bool, len(r.Jobs))
	for _, j := range r.Jobs {
		if !spec.IsID(j.ID) {
			return fmt.Errorf("%q is not a valid job name", j.ID)
		}
		if seen[j.ID] {
			return fmt.Errorf("two jobs are named %s", j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}

// whyNoRun returns the reason why dir has no run.json. If dir has a lock, Create was
// stopped before it wrote run.json.
func whyNoRun(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "lock")); err == nil {
		return "the batch was stopped before its jobs were planned: start it again with 'gpfit batch SPEC --out " + dir + "'"
	}
	return "is not a run directory (it has no run.json): 'gpfit batch' makes one; 'gpfit inspect' shows a model"
}

package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gpfit/internal/atomicfile"
)

// manifests are the names of the resolved spec and of its copy.
var manifests = []string{"run.json", "run.copy.json"}

// writeManifests writes the resolved spec to files of dir.
func writeManifests(dir string, m *Manifest, names ...string) error {
	m.Type, m.SchemaVersion = "gpfit run", SchemaVersion
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

// fault says what is wrong with a file beside which the other one is whole.
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
	text, err := os.ReadFile(path)
	if err != nil {
		f.err = &Error{Path: path, Msg: "cannot be read: " + reason(err), Err: err}
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

// reason returns the cause of an error of the system.
func reason(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
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

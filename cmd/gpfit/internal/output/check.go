package output

import (
	"errors"
	"os"
	"path/filepath"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/hyperopt/descent"
	"gpfit/internal/atomicfile"
	"gpfit/table"
)

// Destination is a file that a command writes: Path is the value of Flag, "" for no
// file.
type Destination struct {
	Flag, Path string
	// Other is another name to suggest if the file exists, "" for none.
	Other string
	// Continued means that the command continues an existing file.
	Continued bool
}

// Check checks before the work that a command can write its outputs. No output may
// be an input or another output, under any name: the last one written would replace
// the others. No output may exist, unless force is true. Every command checks all its
// outputs with one call, and writes them with [atomicfile.Writer], which checks again.
func Check(force bool, outputs []Destination, inputs ...string) error {
	read := identities(inputs)
	for i, out := range outputs {
		if out.Path == "" {
			continue
		}
		own := identify(out.Path)
		for _, in := range read {
			if own.is(in) {
				return exit.Usagef("--%s %s: is also an input; choose another name", out.Flag, out.Path)
			}
		}
		for _, other := range outputs[:i] {
			if other.Path != "" && own.is(identify(other.Path)) {
				return exit.Usagef("--%s %s: is also the file of --%s; choose another name", out.Flag, out.Path, other.Flag)
			}
		}
		if err := out.probe(); err != nil {
			return err
		}
		if !force && !out.Continued && atomicfile.Occupied(out.Path) {
			return out.exists()
		}
	}
	return nil
}

// exists returns the error for a file that would be replaced.
func (t Destination) exists() error {
	other := ""
	if t.Other != "" && t.Other != t.Path && !atomicfile.Occupied(t.Other) {
		other = ", such as " + t.Other
	}
	return exit.Usagef("--%s %s: the file exists; choose another name%s, or give --force to replace it", t.Flag, t.Path, other)
}

// Continues reports whether the fit with this checkpoint wrote the model at path: the
// checkpoint has evaluations, and an interrupted fit wrote the model, or the model is no
// older than the checkpoint.
func Continues(path, checkpoint string) bool {
	log, err := os.Stat(checkpoint)
	if err != nil || !log.Mode().IsRegular() || log.Size() == 0 {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	m, err := gp.Load(path)
	return err == nil && (m.Status == descent.StatusCancelled.String() || !info.ModTime().Before(log.ModTime()))
}

// probe checks that the file can be created.
func (t Destination) probe() error {
	info, err := os.Stat(t.Path)
	if err == nil && info.IsDir() {
		return exit.Usagef("--%s %s: is a folder", t.Flag, t.Path)
	}
	if atomicfile.IsDirect(t.Path) {
		return nil
	}
	folder := filepath.Dir(atomicfile.Resolve(t.Path))
	probe, err := os.CreateTemp(folder, ".gpfit-probe*")
	switch {
	case errors.Is(err, os.ErrNotExist):
		return exit.Usagef("--%s %s: there is no folder %s; make it first", t.Flag, t.Path, filepath.Dir(t.Path))
	case err != nil:
		return exit.Usagef("--%s %s: cannot write there: %v", t.Flag, t.Path, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// identity identifies a file: by its place on the disk if it exists, and otherwise by
// its path.
type identity struct {
	path string
	info os.FileInfo
}

// identify returns the identity of the file at path, or nil if it is not a regular
// file: a command may read and write such a file at once.
func identify(path string) *identity {
	info, err := os.Stat(path)
	if err != nil {
		return &identity{path: atomicfile.Resolve(path)}
	}
	if !info.Mode().IsRegular() || atomicfile.IsDirect(path) {
		return nil
	}
	return &identity{info: info}
}

func (i *identity) is(other *identity) bool {
	switch {
	case i == nil || other == nil:
		return false
	case i.info != nil && other.info != nil:
		return os.SameFile(i.info, other.info)
	}
	return i.info == nil && other.info == nil && i.path == other.path
}

// identities returns the identities of the files that inputs name. An input may be a
// table of several files.
func identities(inputs []string) []*identity {
	var all []*identity
	for _, in := range inputs {
		files, err := table.Files(in)
		if in == "" || in == "-" || err != nil {
			continue // reading the input reports its errors
		}
		for _, f := range files {
			if id := identify(f); id != nil && id.info != nil {
				all = append(all, id)
			}
		}
	}
	return all
}

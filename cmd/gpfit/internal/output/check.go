package output

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	read := regularFiles(inputs)
	for i, out := range outputs {
		if out.Path == "" {
			continue
		}
		own := regular(out.Path)
		if slices.ContainsFunc(read, func(in os.FileInfo) bool { return os.SameFile(own, in) }) {
			return exit.Usagef("--%s %s: is also an input; choose another name", out.Flag, out.Path)
		}
		for _, other := range outputs[:i] {
			if other.Path != "" && same(out.Path, other.Path) {
				return exit.Usagef("--%s %s: is also the file of --%s; choose another name", out.Flag, out.Path, other.Flag)
			}
		}
		if err := out.probe(); err != nil {
			return err
		}
		if !force && !out.Continued && atomicfile.Occupied(out.Path) && !anyMissing(inputs) {
			return out.exists()
		}
	}
	return nil
}

// anyMissing reports whether one of the inputs is not there: then the error on reading it
// matters more than the name of an output.
func anyMissing(inputs []string) bool {
	return slices.ContainsFunc(inputs, func(path string) bool {
		if path == "" || path == "-" || strings.ContainsAny(path, "*?[") {
			return false // no file, standard input or a pattern
		}
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
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

// regular describes the file at path. It returns nil if there is none, or if it is not a regular
// file: a command may read and write such a file at once.
func regular(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || atomicfile.IsDirect(path) {
		return nil
	}
	return info
}

// same reports whether two outputs are one file, or are going to be.
func same(a, b string) bool {
	_, errA := os.Stat(a)
	_, errB := os.Stat(b)
	if errA != nil && errB != nil {
		return atomicfile.Resolve(a) == atomicfile.Resolve(b)
	}
	return os.SameFile(regular(a), regular(b))
}

// regularFiles describes the files that inputs name. An input may be a table of several files.
func regularFiles(inputs []string) []os.FileInfo {
	var all []os.FileInfo
	for _, in := range inputs {
		files, err := table.Files(in)
		if in == "" || in == "-" || err != nil {
			continue // reading the input reports its errors
		}
		for _, f := range files {
			if info := regular(f); info != nil {
				all = append(all, info)
			}
		}
	}
	return all
}

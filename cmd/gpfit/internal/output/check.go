package output

import (
	"os"
	"path/filepath"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/table"
)

// Destination is a file that a command writes: Path is the value of Flag, "" for no
// file.
type Destination struct{ Flag, Path string }

// Check checks before the work that a command can write its outputs. No output may
// be an input or another output, under any name: the last one written would replace
// the others. Every command checks all its outputs with one call.
func Check(outputs []Destination, inputs ...string) error {
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
	}
	return nil
}

// CheckModel is [Check] with path, the model file of --out, as a further output. Unless
// force is true, the model must not replace a file that is not a model.
func CheckModel(path string, force bool, others []Destination, inputs ...string) error {
	if err := Check(append([]Destination{{"out", path}}, others...), inputs...); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || force || info.Size() == 0 || atomicfile.IsDirect(path) {
		return nil
	}
	if _, err := gp.Load(path); err != nil {
		return exit.Usagef("--out %s: exists and is not a gpfit model; choose another name, or give --force to replace it", path)
	}
	return nil
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
	probe, err := os.CreateTemp(filepath.Dir(atomicfile.Resolve(t.Path)), ".gpfit-probe*")
	if err != nil {
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

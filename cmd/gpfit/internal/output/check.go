package output

import (
	"os"
	"path/filepath"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/table"
)

// Destination is a file that a command writes, the value of a flag; "" is none.
type Destination struct{ Flag, Path string }

// Check finds out before the work whether the outputs of a command can be
// written. None may be one of the inputs, or another output, by whatever name:
// the last to be written would replace the others. Every command checks all its
// outputs with one call.
func Check(outputs []Destination, inputs ...string) error {
	read := identities(inputs)
	for i, out := range outputs {
		if out.Path == "" {
			continue
		}
		own := identify(out.Path)
		for _, in := range read {
			if own.is(in) {
				return exit.Usagef("--%s %s: is a file that is read here; choose another name", out.Flag, out.Path)
			}
		}
		for _, other := range outputs[:i] {
			if other.Path != "" && own.is(identify(other.Path)) {
				return exit.Usagef("--%s %s: is the file of --%s, too; choose another name", out.Flag, out.Path, other.Flag)
			}
		}
		if err := out.probe(); err != nil {
			return err
		}
	}
	return nil
}

// CheckModel is [Check] for the file of --out too, a model, which does not
// replace a file that is something else unless it is forced to.
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

// probe tries whether there can be a file of that name.
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

// identity tells files apart: by their place on the disk where they are, by
// their path where they are not.
type identity struct {
	path string
	info os.FileInfo
}

// identify finds out what a path names. What is no regular file can be read and
// written at once, and has no identity.
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

// identities are those of the files that inputs name: tables of several files,
// too.
func identities(inputs []string) []*identity {
	var all []*identity
	for _, in := range inputs {
		files, err := table.Files(in)
		if in == "" || in == "-" || err != nil {
			continue // an input that cannot be read is found out elsewhere
		}
		for _, f := range files {
			if id := identify(f); id != nil && id.info != nil {
				all = append(all, id)
			}
		}
	}
	return all
}

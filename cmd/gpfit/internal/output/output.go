// Package output writes results: tables as CSV or JSON, reports, and files that
// are whole or not there.
package output

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

// WriteError is a failure to write, which is no fault of the input.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Report prints a result as JSON or text.
func Report(w io.Writer, asJSON bool, r interface{ Text() string }) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := io.WriteString(w, r.Text())
	return err
}

// File writes the file out, whole or not at all; "" is standard output.
func File(stdout io.Writer, out string, write func(io.Writer) error) error {
	if out == "" {
		return write(stdout)
	}
	return atomicfile.Write(out, write)
}

// Keep refuses a file to write, the value of a flag, that is one of those to be
// read.
func Keep(flag, out string, inputs ...string) error {
	info, err := os.Stat(out)
	if out == "" || err != nil {
		return nil
	}
	for _, path := range inputs {
		if in, err := os.Stat(path); err == nil && in.Mode().IsRegular() && os.SameFile(info, in) {
			return exit.Usagef("--%s %s: is a file that is read here; choose another name", flag, out)
		}
	}
	return nil
}

// CheckModel finds out before the work whether a model can be written to the file
// of --out, and does not let it replace a file that is something else, unless it
// is forced to.
func CheckModel(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return exit.Usagef("--out %s: is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil
	case err == nil && !force:
		if _, err := gp.Load(path); err != nil && info.Size() > 0 {
			return exit.Usagef("--out %s: exists and is not a gpfit model; choose another name, or give --force to replace it", path)
		}
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".gpfit-probe*")
	if err != nil {
		return exit.Usagef("--out %s: cannot write there: %v", path, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// ModelName is the file for a model of DATA: its base name with .gpfit for its
// extensions; of a pattern it is what is common to the names.
func ModelName(data string) string {
	if data == "-" {
		return "model.gpfit"
	}
	name := strings.TrimSuffix(filepath.Base(data), ".gz")
	if base := strings.TrimSuffix(name, filepath.Ext(name)); base != "" {
		name = base
	}
	if strings.ContainsAny(name, "*?[") {
		name = strings.Trim(strings.NewReplacer("*", "", "?", "", "[", "", "]", "").Replace(name), ".-_ ")
	}
	if strings.Trim(name, ".") == "" {
		name = "model"
	}
	return name + ".gpfit"
}

// Package output writes results: tables as CSV or JSON, reports, and files that
// appear whole or not at all.
package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
	"gpfit/table"
)

// WriteError is a failure to write. The input is not at fault.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Is reports whether target is the system error or the interrupt behind the failure. WriteError has no
// Unwrap method: the type of another cause would give the exit code of bad input.
func (e *WriteError) Is(target error) bool {
	_, ofSystem := target.(syscall.Errno)
	return (ofSystem || target == context.Canceled) && errors.Is(e.Err, target)
}

// Report prints a result as JSON or text.
func Report(w io.Writer, asJSON bool, r interface{ Text() string }) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := io.WriteString(w, textform.Printable(r.Text(), math.MaxInt))
	return err
}

// Write writes the file out, whole or not at all; "" is standard output. Only if replace
// is true, it replaces an existing file.
func Write(ctx context.Context, stdout io.Writer, out string, replace bool, write func(io.Writer) error) error {
	if out == "" {
		return write(stdout)
	}
	return atomicfile.Writer(replace)(ctx, out, write)
}

// ModelName returns the name of the model file for DATA: its base name, with .gpfit
// instead of its extensions. For a pattern it leaves out the wildcards. A base name
// such as data, which many tables have, follows the name of the table's folder:
// yacht-data.gpfit is the model of yacht/data.csv.
func ModelName(data string) string {
	if slices.Contains(commonNames, strings.ToLower(baseName(data))) {
		return DistinctName(data)
	}
	return baseName(data) + ".gpfit"
}

// commonNames are names of tables that do not tell one from another.
var commonNames = []string{"all", "data", "dataset", "input", "inputs", "model", "part", "table", "train", "training", "x", "xy"}

// DistinctName is [ModelName] with the name of the table's folder in front, if data names one.
func DistinctName(data string) string {
	name, folder := baseName(data), filepath.Dir(filepath.Clean(data))
	if folder == "." || data == "-" {
		return name + ".gpfit"
	}
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	if folder = filepath.Base(folder); strings.ContainsAny(folder, `*?[/\`) {
		return name + ".gpfit"
	}
	return folder + "-" + name + ".gpfit"
}

// baseName returns the name of a table without folder, extensions and wildcards.
func baseName(data string) string {
	if data == "-" {
		return "model"
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
	return name
}

// Destination is a file that a command writes: Path is the value of Flag, "" for no file.
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

// Continues reports whether the command with these options, which continues the fit to data from
// a checkpoint, wrote the model at path: the checkpoint has evaluations, the model is of the same
// command, and its fit was interrupted, or it is no older than the checkpoint.
func Continues(path, checkpoint, data string, options map[string]string) bool {
	log, err := os.Stat(checkpoint)
	if err != nil || !log.Mode().IsRegular() {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	m, err := gp.Load(path)
	if err != nil {
		return false
	}
	r, err := summary.ReadRecord(m.Record)
	return err == nil && r != nil && r.Report != nil && r.Data == data && maps.Equal(r.Options, options) &&
		(r.Report.Interrupted || log.Size() > 0 && !info.ModTime().Before(log.ModTime()))
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
	switch err := atomicfile.Probe(t.Path); {
	case errors.Is(err, os.ErrNotExist):
		return exit.Usagef("--%s %s: there is no folder %s; make it first", t.Flag, t.Path, filepath.Dir(t.Path))
	case errors.Is(err, os.ErrPermission):
		return exit.Usagef("--%s %s: cannot write there: %v", t.Flag, t.Path, err)
	case err != nil:
		return &WriteError{fmt.Errorf("--%s %s: cannot write there: %w", t.Flag, t.Path, err)}
	}
	return nil
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

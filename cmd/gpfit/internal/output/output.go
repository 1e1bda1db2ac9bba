// Package output writes results: tables as CSV or JSON, reports, and files that
// appear whole or not at all.
package output

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
)

// WriteError is a failure to write. The input is not at fault.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Is reports whether target is the system error behind the failure. WriteError has no
// Unwrap method: the type of another cause would give the exit code of bad input.
func (e *WriteError) Is(target error) bool {
	_, ofSystem := target.(syscall.Errno)
	return ofSystem && errors.Is(e.Err, target)
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

// DistinctName is [ModelName] with the name of the table's folder in front, if data
// names one.
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

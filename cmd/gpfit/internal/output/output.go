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

// File writes the file out, whole or not at all; "" is standard output.
func File(ctx context.Context, stdout io.Writer, out string, write func(io.Writer) error) error {
	if out == "" {
		return write(stdout)
	}
	return atomicfile.Write(ctx, out, write)
}

// ModelName returns the name of the model file for DATA: its base name, with .gpfit
// instead of its extensions. For a pattern it leaves out the wildcards.
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

package flags

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
)

// ResultFlags say of which target of a model something is computed, and where it
// goes.
type ResultFlags struct{ target, out string }

// Add declares the flags.
func (f *ResultFlags) Add(s *pflag.FlagSet) {
	s.StringVar(&f.target, "target", "", "`NAME` of the target, if the model has several")
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	CommandLineOnly(s, "target", "out")
}

// Load reads the model of the target.
func (f *ResultFlags) Load(path string) (*gp.Model, error) {
	if err := output.Check([]output.Destination{{Flag: "out", Path: f.out}}, path); err != nil {
		return nil, err
	}
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	return Target(m, f.target)
}

// Write writes the result.
func (f *ResultFlags) Write(ctx context.Context, stdout io.Writer, write func(io.Writer) error) error {
	return output.File(ctx, stdout, f.out, write)
}

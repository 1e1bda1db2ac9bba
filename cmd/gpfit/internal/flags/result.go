package flags

import (
	"io"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
)

// Result says of which target of a model something is computed, and where it
// goes.
type Result struct{ target, out string }

// Add declares the flags.
func (f *Result) Add(s *pflag.FlagSet) {
	s.StringVar(&f.target, "target", "", "`NAME` of the target, if the model has several")
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	CommandLineOnly(s, "target", "out")
}

// Load reads the model of the target.
func (f *Result) Load(path string) (*gp.Model, error) {
	if err := output.Keep("out", f.out, path); err != nil {
		return nil, err
	}
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	return Target(m, f.target)
}

// Write writes the result.
func (f *Result) Write(stdout io.Writer, write func(io.Writer) error) error {
	return output.File(stdout, f.out, write)
}

package flags

import (
	"context"
	"errors"
	"io"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/arrow"
	"gpfit/internal/dataset"
	"gpfit/internal/parquet"
	"gpfit/internal/rows"
	"gpfit/table"
)

// Formats returns the table formats that the command reads besides text and NumPy's.
func Formats() []table.Format { return []table.Format{parquet.Format(), arrow.Format()} }

// Inputs returns the files that a command reads for a training table at path.
func (o *Options) Inputs(path string) []string {
	if o.Data.Mask == "" {
		return []string{path}
	}
	return []string{path, o.Data.Mask}
}

// TellNoise reports whether an option gives the noise of a table's rows.
func (o *Options) TellNoise() bool {
	return o.Rows.NoiseColumn != "" || o.Rows.NoiseGroup != "" || o.Rows.DefaultGroup != ""
}

// ReadTable reads a training table. If ctx is done first, it returns ctx's error.
func (o *Options) ReadTable(ctx context.Context, path string, stdin io.Reader) (problem.Data, error) {
	data := o.Data
	data.Formats = Formats()
	return Await(ctx, path, func() (problem.Data, error) { return dataset.Read(path, stdin, data) })
}

// OpenRows opens a table for a model. The caller closes the reader. If ctx is done before a
// pipe has a writer, OpenRows returns ctx's error.
func (o *Options) OpenRows(ctx context.Context, path string, stdin io.Reader, m *gp.Model) (*rows.ModelRows, error) {
	in := o.Rows
	in.Formats = Formats()
	r, err := Await(ctx, path, func() (*rows.ModelRows, error) { return rows.Open(path, stdin, m, in) })
	return r, RowsError(err)
}

// RowsError turns errors of package rows about options into errors of the command line.
func RowsError(err error) error {
	var mismatch *rows.MismatchError
	if errors.As(err, &mismatch) {
		return &problem.OptionError{Option: mismatch.Option, Msg: mismatch.Msg}
	}
	var noise *gp.NoiseError
	if errors.As(err, &noise) && noise.Row < 0 {
		return exit.Usagef("%v; give --noise-group or --noise-group-default", err)
	}
	return err
}

// LoadModel reads the model at path and returns the model of the chosen target. The
// result must not replace the file.
func (o *Options) LoadModel(path string) (*gp.Model, error) {
	if err := output.Check(o.Output.Force, []output.Destination{{Flag: "out", Path: o.Output.Out}}, path); err != nil {
		return nil, err
	}
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	return Target(m, o.Target)
}

// Write writes a result to the file of option out, or to standard output.
func (o *Options) Write(ctx context.Context, stdout io.Writer, write func(io.Writer) error) error {
	return output.Write(ctx, stdout, o.Output.Out, o.Output.Force, write)
}

// Target returns the model of the named target, or of the only one.
func Target(m *gp.Model, name string) (*gp.Model, error) {
	one, err := m.TargetNamed(name)
	var wrong *gp.NameError
	if !errors.As(err, &wrong) {
		return one, err
	}
	known := strings.Join(wrong.Known, ", ")
	switch {
	case name == "":
		return nil, exit.Usagef("the model has several targets: choose one with --target (%s)", known)
	case len(wrong.Known) == 1:
		return nil, exit.Usagef("--target %q: the model's target is %s", name, known)
	}
	return nil, exit.Usagef("--target %q: the model's targets are %s", name, known)
}

package frame

import (
	"errors"
	"strings"

	"gpfit"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/rows"
)

// Inputs returns the files that the command reads for a training table at path, and further
// files.
func (c *Command) Inputs(path string, more ...string) []string {
	return append([]string{path, c.Data.Mask}, more...)
}

// Table reads a training table. It returns a [*problem.OptionError] if the method does not exist
// or does not suit the other options.
func (c *Command) Table(path string) (problem.Data, error) {
	o := c.Data
	method, err := problem.FindMethod(c.Compute.Method, gpfit.Methods(), c.Fit)
	if err != nil {
		return problem.Data{}, err
	}
	if method != nil {
		o.Method = method
	}
	return flags.ReadTable(c.Ctx, path, c.In, o)
}

// OpenRows opens a table for a model. The caller closes the reader. If the user interrupts
// the command before a pipe has a writer, OpenRows returns an error.
func (c *Command) OpenRows(path string, m *gp.Model) (*rows.ModelRows, error) {
	in := c.Rows
	in.Formats = flags.Formats()
	r, err := flags.Await(c.Ctx, path, func() (*rows.ModelRows, error) { return rows.Open(path, c.In, m, in) })
	return r, RowsError(err)
}

// AllRows reads all rows of a table for a model, with warnings about them.
func (c *Command) AllRows(path string, m *gp.Model) (rows.Rows, []string, error) {
	in, err := c.OpenRows(path, m)
	if err != nil {
		return rows.Rows{}, nil, err
	}
	defer in.Close()
	all, err := flags.Await(c.Ctx, path, in.All)
	return all, in.Warnings(), RowsError(err)
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
func (c *Command) LoadModel(path string) (*gp.Model, error) {
	if err := c.CheckOutputs([]string{path}); err != nil {
		return nil, err
	}
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	return c.ModelOfTarget(m)
}

// ModelOfTarget returns the model of the target of the options, or of the only one.
func (c *Command) ModelOfTarget(m *gp.Model) (*gp.Model, error) {
	one, err := m.TargetNamed(c.Target)
	var wrong *gp.NameError
	if !errors.As(err, &wrong) {
		return one, err
	}
	known := strings.Join(wrong.Known, ", ")
	switch {
	case c.Target == "":
		return nil, exit.Usagef("the model has several targets: choose one with --target (%s)", known)
	case len(wrong.Known) == 1:
		return nil, exit.Usagef("--target %q: the model's target is %s", c.Target, known)
	}
	return nil, exit.Usagef("--target %q: the model's targets are %s", c.Target, known)
}

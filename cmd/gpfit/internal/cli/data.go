package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"gpfit"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/compare/companion"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/table/feature"
)

// Inputs returns the files that the command reads for a training table at path, and further files.
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
	o.Methods = problem.MethodsOf(method, gpfit.Methods(), c.Fit)
	return flags.ReadTable(c.Ctx, path, c.In, o)
}

// OpenRows opens a table for a model. The caller closes the reader. If the user interrupts
// the command before a pipe has a writer, OpenRows returns an error.
func (c *Command) OpenRows(path string, m *gp.Model) (*dataset.ModelRows, error) {
	in := c.Rows
	in.Formats = flags.Formats()
	r, err := flags.Await(c.Ctx, path, func() (*dataset.ModelRows, error) { return dataset.OpenRows(path, c.In, m, in) })
	return r, RowsError(err)
}

// AllRows reads all rows of a table for a model, with warnings about them.
func (c *Command) AllRows(path string, m *gp.Model) (dataset.Rows, []string, error) {
	in, err := c.OpenRows(path, m)
	if err != nil {
		return dataset.Rows{}, nil, err
	}
	defer in.Close()
	all, err := flags.Await(c.Ctx, path, in.All)
	if err != nil { // in may still be reading
		return all, nil, RowsError(err)
	}
	if all.Reading.Skipped() > 0 {
		c.Msg.Note("%s", all.Reading.Text())
	}
	return all, in.Warnings(), nil
}

// RowsError names the options that an error of a row's noise asks for.
func RowsError(err error) error {
	if noise, ok := errors.AsType[*gp.NoiseError](err); ok && noise.Row < 0 {
		return exit.Usagef("%v; give --noise-group or --noise-group-default", err)
	}
	return err
}

// Load reads the model at path. The model belongs to the command: its options can be changed. It returns
// the errors of [gp.Load].
func (c *Command) Load(path string) (m *gp.Model, err error) {
	m, c.kept.model, err = c.kept.store.Model(path)
	return m, err
}

// LoadModel reads the model at path and returns the model of the chosen target. The
// result must not replace the file.
func (c *Command) LoadModel(path string) (*gp.Model, error) {
	if err := c.CheckOutputs([]string{path}); err != nil {
		return nil, err
	}
	if companion.Is(path) {
		return nil, exit.Usagef("%s: is a regression, and this command needs a Gaussian process; gpfit predict, inspect and check read it", path)
	}
	m, err := c.Load(path)
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
		return nil, exit.Usagef("--target %s: the model's target is %s", textform.Quote(c.Target), known)
	}
	return nil, exit.Usagef("--target %s: the model's targets are %s", textform.Quote(c.Target), known)
}

// StartModel loads the model of --from. From it come the columns, with their encoding, and what
// [problem.Options.From] takes, in place of the defaults of options that are not given. Without
// --from it returns nil.
func (c *Command) StartModel() (*gp.Model, error) {
	if c.From == "" {
		return nil, nil
	}
	m, err := c.Load(c.From)
	if err != nil {
		return nil, err
	}
	for name, field := range map[string]*string{
		"kernel": &c.Fit.Kernel, "mean": &c.Fit.Mean, "standardize": (*string)(&c.Fit.Standardize),
		"objective": (*string)(&c.Fit.Objective), "coarse": (*string)(&c.Fit.Settings.Coarse),
		"target-transform": (*string)(&c.Fit.TargetTransform), "input-transform": (*string)(&c.Fit.InputTransform),
	} {
		if !c.Changed(name) {
			*field = ""
		}
	}
	if c.Changed("noise") && !c.Fit.NoNoise && m.NoiseVariance == 0 && len(m.Noise.Labels) == 0 {
		return nil, exit.Usagef("--noise estimated: the model of --from has no estimated noise; give its start value with --set noise_variance=0.1")
	}
	c.takeColumns(m)
	return m, nil
}

// takeColumns takes the columns of a model. The encoding of its features counts unless an
// option says which they are, or how to read them.
func (c *Command) takeColumns(m *gp.Model) {
	names := m.TargetNames()
	switch {
	case c.Changed("target"):
	case len(names) > 1:
		c.Data.Targets = names
	default:
		c.Data.Target = names[0]
	}
	if !c.Changed("noise-column") {
		c.Data.NoiseColumn = m.Noise.Column
	}
	if !c.Changed("weight-column") {
		c.Data.WeightColumn = m.Noise.WeightColumn
	}
	if !c.Changed("noise-group") {
		c.Data.NoiseGroup = m.Noise.GroupColumn
	}
	if c.Changed("features", "exclude", "categories", "dates", "numbers", "category-columns", "date-unit", "date-origin") {
		return
	}
	c.Data.Encoding = cmp.Or(m.Encoding, feature.Numbers(m.FeatureNames))
	for _, column := range c.Data.Encoding.Columns {
		c.Data.Features = append(slices.Clip(c.Data.Features), column.Name)
	}
	c.Data.Text = c.Data.Text.Or(c.Data.Encoding.Text)
}

package frame

import (
	"slices"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/feature"
	"gpfit/gp"
)

// StartModel loads the model of --from. From it come the columns, with their encoding, and what
// [problem.Options.From] takes, in place of the defaults of options that are not given. Without
// --from it returns nil.
func (c *Command) StartModel() (*gp.Model, error) {
	if c.From == "" {
		return nil, nil
	}
	m, err := gp.Load(c.From)
	if err != nil {
		return nil, err
	}
	for name, field := range map[string]*string{
		"kernel": &c.Fit.Kernel, "mean": &c.Fit.Mean, "standardize": (*string)(&c.Fit.Standardize),
		"objective": (*string)(&c.Fit.Objective), "coarse": (*string)(&c.Fit.Settings.Coarse),
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
	if !c.Changed("noise-group") {
		c.Data.NoiseGroup = m.Noise.GroupColumn
	}
	if c.Changed("features", "categories", "dates", "numbers", "category-columns", "date-unit", "date-origin") {
		return
	}
	encoding := m.Encoding
	if encoding == nil {
		encoding = feature.Numbers(m.FeatureNames)
	}
	c.Data.Encoding = encoding
	for _, column := range encoding.Columns {
		c.Data.Features = append(slices.Clip(c.Data.Features), column.Name)
	}
	if !c.Changed("decimal") {
		c.Data.Decimal = encoding.Decimal
	}
}

package training

import (
	"slices"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/feature"
	"gpfit/gp"
)

// TakeModel replaces the defaults of options that are not given by what a model says: the
// columns, with their encoding, and what [problem.Options.From] takes.
func (f *Flags) TakeModel(m *gp.Model) error {
	for name, field := range map[string]*string{
		"kernel": &f.Fit.Kernel, "mean": &f.Fit.Mean, "standardize": (*string)(&f.Fit.Standardize),
		"objective": (*string)(&f.Fit.Objective), "coarse": (*string)(&f.Fit.Settings.Coarse),
	} {
		if !f.Changed(name) {
			*field = ""
		}
	}
	if f.Changed("noise") && !f.Fit.NoNoise && m.NoiseVariance == 0 && len(m.Noise.Labels) == 0 {
		return exit.Usagef("--noise estimated: the model of --from has no estimated noise; give its start value with --set noise_variance=0.1")
	}
	f.takeColumns(m)
	return nil
}

// takeColumns takes the columns of a model. The encoding of its features counts unless an
// option says which they are, or how to read them.
func (f *Flags) takeColumns(m *gp.Model) {
	names := m.TargetNames()
	switch {
	case f.Changed("target"):
	case len(names) > 1:
		f.Data.Targets = names
	default:
		f.Data.Target = names[0]
	}
	if !f.Changed("noise-column") {
		f.Data.NoiseColumn = m.Noise.Column
	}
	if !f.Changed("noise-group") {
		f.Data.NoiseGroup = m.Noise.GroupColumn
	}
	if f.Changed("features", "categories", "dates", "numbers", "category-columns", "date-unit", "date-origin") {
		return
	}
	encoding := m.Encoding
	if encoding == nil {
		encoding = feature.Numbers(m.FeatureNames)
	}
	f.Data.Encoding = encoding
	for _, c := range encoding.Columns {
		f.Data.Features = append(slices.Clip(f.Data.Features), c.Name)
	}
	if !f.Changed("decimal") {
		f.Data.Decimal = encoding.Decimal
	}
}

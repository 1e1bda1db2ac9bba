package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/internal/table"
)

// noiseFlags say what is known of the noise of a training table.
type noiseFlags struct{ noise, column, group string }

func (f *noiseFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.noise, "noise", "estimated", "estimated, or none: the fit goes through the targets, but for --noise-column")
	s.StringVar(&f.column, "noise-column", "", "column, by `NAME` or index, of noise variances that are known for each row, in squared units of the target; the estimated variance comes on top")
	s.StringVar(&f.group, "noise-group", "", "column, by `NAME` or index, of labels: each group of rows has a noise variance of its own, noise_variance[LABEL]")
}

// tableOptions asks for the columns.
func (f *noiseFlags) tableOptions(o *table.Options) {
	if f.column != "" {
		o.Extra = append(o.Extra, f.column)
	}
	if f.group != "" {
		o.ExtraText = append(o.ExtraText, f.group)
	}
}

// data passes the columns on.
func (f *noiseFlags) data(d *fit.Data, t *table.Table) {
	if f.column != "" {
		d.NoiseVariance, d.NoiseColumn = t.Extra[f.column], f.column
	}
	if f.group != "" {
		d.NoiseGroup, d.NoiseGroupColumn = t.ExtraText[f.group], f.group
	}
}

func (f *noiseFlags) apply(o *fit.Options) error {
	switch f.noise {
	case "", "estimated":
	case "none":
		o.NoNoise = true
	default:
		return usagef("--noise %q: must be estimated or none", f.noise)
	}
	return nil
}

// rowNoiseFlags say what is known of the noise of rows to predict.
type rowNoiseFlags struct{ column, group, defaultGroup string }

func (f *rowNoiseFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.column, "noise-column", "", "column of known noise variances, by `NAME` or index (default: that of the model, if DATA has it)")
	s.StringVar(&f.group, "noise-group", "", "column of noise groups, by `NAME` or index (default: that of the model, if DATA has it)")
	s.StringVar(&f.defaultGroup, "noise-group-default", "", "`LABEL` of the noise group of rows without one that the model knows")
}

// choose finds the columns of the model in the table and adds them to what is
// read. A column that the flags name must be there.
func (f *rowNoiseFlags) choose(m *gp.Model, names []string, o *table.Options) error {
	if f.column != "" && m.Noise.Column == "" {
		return usagef("--noise-column: the model was fitted without known variances")
	}
	if (f.group != "" || f.defaultGroup != "") && m.Noise.GroupColumn == "" {
		return usagef("--noise-group and --noise-group-default: the model has no noise groups")
	}
	if f.column == "" && slices.Contains(names, m.Noise.Column) {
		f.column = m.Noise.Column
	}
	if f.group == "" && slices.Contains(names, m.Noise.GroupColumn) {
		f.group = m.Noise.GroupColumn
	}
	(&noiseFlags{column: f.column, group: f.group}).tableOptions(o)
	return nil
}

// rows takes the columns from the table. What the result lacks is a warning.
func (f *rowNoiseFlags) rows(m *gp.Model, t *table.Table) (gp.RowNoise, []string) {
	row := gp.RowNoise{DefaultGroup: f.defaultGroup}
	var warnings []string
	if f.column != "" {
		row.Known = t.Extra[f.column]
	} else if m.Noise.Column != "" {
		warnings = append(warnings, fmt.Sprintf("the table has no column %q of known noise variances: std is that of an observation without them", m.Noise.Column))
	}
	if f.group != "" {
		row.Group = t.ExtraText[f.group]
	}
	return row, warnings
}

// tableNames returns the names of a table's columns, and its input once more:
// standard input is read into memory for that.
func tableNames(path string, stdin io.Reader, o table.Options) ([]string, io.Reader, error) {
	var r *table.Reader
	var err error
	if path == "-" {
		text, readErr := io.ReadAll(stdin)
		if readErr != nil {
			return nil, nil, readErr
		}
		stdin = bytes.NewReader(text)
		r, err = table.NewReader(bytes.NewReader(text), "-", o)
	} else {
		r, err = table.Open(path, o)
	}
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	return r.Names(), stdin, nil
}

// explainNoise says which flags help where the rows' noise is not known.
func explainNoise(err error) error {
	var ne *gp.NoiseError
	switch {
	case !errors.As(err, &ne):
		return err
	case ne.Row < 0:
		return usagef("%v; give --noise-group or --noise-group-default", err)
	}
	return &fit.DataError{Msg: err.Error()}
}

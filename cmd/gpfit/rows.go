package main

import (
	"errors"
	"io"
	"slices"

	"gpfit/gp"
	"gpfit/internal/table"
)

// modelRows reads the rows of a table as a model wants them.
type modelRows struct {
	in   *table.Reader
	into []int // for each column that is read, its place among the model's features
	all  int   // the model's features
	rows []float64
	// noise of the rows, and what it lacks.
	model   *gp.Model
	noise   rowNoiseFlags
	lacking []string
	done    int
}

// openModelRows opens a table, or standard input for "-", for the model's
// columns. Features that the model does not use, because they were constant, need
// not be in the table and are left zero.
func openModelRows(path string, stdin io.Reader, f rowFlags, m *gp.Model) (*modelRows, error) {
	data := dataFlags{target: m.TargetName, features: f.features, header: f.header}
	o, err := data.tableOptions()
	if err != nil {
		return nil, err
	}
	o.NoTarget = true
	r := &modelRows{into: m.Columns, all: len(m.FeatureNames), model: m, noise: f.noise}
	switch len(f.features) {
	case 0:
		for _, c := range m.Columns {
			o.Features = append(o.Features, m.FeatureNames[c])
		}
	default:
		o.Target = ""
	}
	if m.Noise.Column != "" || m.Noise.GroupColumn != "" || f.noise != (rowNoiseFlags{}) {
		var names []string
		if names, stdin, err = tableNames(path, stdin, o); err == nil {
			err = r.noise.choose(m, names, &o)
		}
		if err != nil {
			return nil, err
		}
	}
	if path == "-" {
		r.in, err = table.NewReader(stdin, "-", o)
	} else {
		r.in, err = table.Open(path, o)
	}
	if err != nil {
		return nil, err
	}
	switch d := r.in.Columns(); d {
	case len(m.Columns):
	case r.all:
		r.into = nil
		for c := range m.FeatureNames {
			r.into = append(r.into, c)
		}
	default:
		r.close()
		return nil, usagef("--features gives %d columns, the model has %d", d, r.all)
	}
	return r, nil
}

// next returns the next rows, most at most, and how many they are: 0 after the
// last. They are valid until the next call. Noise that the model needs and the
// table does not have is an error.
func (r *modelRows) next(most int) (rowsToPredict, error) {
	t, err := r.in.Next(most)
	if err == io.EOF {
		return rowsToPredict{}, nil
	}
	if err != nil {
		return rowsToPredict{}, err
	}
	if len(r.rows) < t.N*r.all {
		r.rows = make([]float64, t.N*r.all)
	}
	out := rowsToPredict{rows: r.rows[:t.N*r.all], n: t.N}
	for i := range t.N {
		for q, c := range r.into {
			out.rows[i*r.all+c] = t.X[i*t.D+q]
		}
	}
	out.noise, r.lacking = r.noise.rows(r.model, t)
	if err := r.model.CheckNoise(t.N, out.noise); err != nil {
		var ne *gp.NoiseError
		if errors.As(err, &ne) && ne.Row >= 0 {
			ne.Row += r.done
		}
		return rowsToPredict{}, explainNoise(err)
	}
	r.done += t.N
	return out, nil
}

// rest returns the given rows and all that are left.
func (r *modelRows) rest(first rowsToPredict) (rowsToPredict, error) {
	all := rowsToPredict{noise: gp.RowNoise{DefaultGroup: first.noise.DefaultGroup}}
	for in := first; in.n > 0; {
		all.rows, all.n = append(all.rows, in.rows...), all.n+in.n
		all.noise.Known, all.noise.Group = append(all.noise.Known, in.noise.Known...), append(all.noise.Group, in.noise.Group...)
		var err error
		if in, err = r.next(predictRows); err != nil {
			return all, err
		}
	}
	return all, nil
}

// warnings are those so far.
func (r *modelRows) warnings() []string { return append(slices.Clone(r.lacking), r.in.Warnings()...) }

func (r *modelRows) close() { _ = r.in.Close() }

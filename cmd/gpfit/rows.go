package main

import (
	"io"

	"gpfit/gp"
	"gpfit/internal/table"
)

// modelRows reads the rows of a table as a model wants them.
type modelRows struct {
	in   *table.Reader
	into []int // for each column that is read, its place among the model's features
	all  int   // the model's features
	rows []float64
}

// openModelRows opens a table, or standard input for "-", for the model's
// columns. Features that the model does not use, because they were constant, need
// not be in the table and are left zero.
func openModelRows(path string, stdin io.Reader, f *predictFlags, m *gp.Model) (*modelRows, error) {
	data := dataFlags{target: m.TargetName, features: f.features, header: f.header}
	o, err := data.tableOptions()
	if err != nil {
		return nil, err
	}
	o.NoTarget = true
	r := &modelRows{into: m.Columns, all: len(m.FeatureNames)}
	switch len(f.features) {
	case 0:
		for _, c := range m.Columns {
			o.Features = append(o.Features, m.FeatureNames[c])
		}
	default:
		o.Target = ""
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

// next returns the next rows, most at most, row-major with a column for every
// feature of the model, and how many they are: 0 after the last. They are valid
// until the next call.
func (r *modelRows) next(most int) (rows []float64, n int, err error) {
	t, err := r.in.Next(most)
	if err == io.EOF {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if len(r.rows) < t.N*r.all {
		r.rows = make([]float64, t.N*r.all)
	}
	rows = r.rows[:t.N*r.all]
	for i := range t.N {
		for q, c := range r.into {
			rows[i*r.all+c] = t.X[i*t.D+q]
		}
	}
	return rows, t.N, nil
}

func (r *modelRows) warnings() []string { return r.in.Warnings() }

func (r *modelRows) close() { _ = r.in.Close() }

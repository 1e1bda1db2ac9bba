package main

import (
	"fmt"
	"strings"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/internal/table"
)

// targets returns the names of several targets, nil for one.
func (f *dataFlags) targets() []string {
	if !strings.Contains(f.target, ",") {
		return nil
	}
	names := strings.Split(f.target, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}

// several fills in several targets from the table. A cell that is missing is an
// error, or with drop its row is left out of d, which is a warning.
func several(d *fit.Data, t *table.Table, drop bool) error {
	if t.Targets == nil {
		return nil
	}
	d.TargetName, d.TargetNames = "", t.TargetNames
	var keep []int
	for i := range t.N {
		gap := -1
		for q := range t.Missing {
			if t.Missing[q][i] {
				gap = q
			}
		}
		switch {
		case gap < 0:
			keep = append(keep, i)
		case !drop:
			return &table.Error{Source: t.Source, Line: t.Line[i], ColumnName: t.TargetNames[gap],
				Msg: fmt.Sprintf("the target %q is missing; --missing drop leaves such rows out", t.TargetNames[gap])}
		}
	}
	if dropped := t.N - len(keep); dropped > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d of %d rows left out: a target is missing", dropped, t.N))
	}
	for q := range t.Targets {
		d.Y = append(d.Y, pick(t.Targets[q], keep, 1)...)
	}
	if len(keep) < t.N && d.Row == nil {
		d.Row = keep
	} else {
		d.Row = pick(d.Row, keep, 1)
	}
	d.X, d.N = pick(d.X, keep, d.D), len(keep)
	d.Test, d.NoiseVariance, d.NoiseGroup = pick(d.Test, keep, 1), pick(d.NoiseVariance, keep, 1), pick(d.NoiseGroup, keep, 1)
	return nil
}

// pick returns the given rows of a row-major matrix of d columns, nil of nil.
func pick[T any](v []T, rows []int, d int) []T {
	if v == nil {
		return nil
	}
	out := make([]T, 0, len(rows)*d)
	for _, i := range rows {
		out = append(out, v[i*d:(i+1)*d]...)
	}
	return out
}

// targetOf returns the model of the named target, or of the only one.
func targetOf(m *gp.Model, name string) (*gp.Model, error) {
	if m.T() == 1 {
		if name != "" && name != m.TargetName {
			return nil, usagef("--target %q: the model's target is %s", name, m.TargetName)
		}
		return m.Target(0), nil
	}
	names := make([]string, m.T())
	for t, part := range m.Targets {
		if names[t] = part.Name; part.Name == name {
			return m.Target(t), nil
		}
	}
	if name == "" {
		return nil, usagef("the model has several targets: choose one by --target (%s)", strings.Join(names, ", "))
	}
	return nil, usagef("--target %q: the model's targets are %s", name, strings.Join(names, ", "))
}

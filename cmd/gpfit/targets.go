package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
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

// writePredictions writes those of several targets: columns NAME.mean,
// NAME.std and so on, or with asJSON an object for each target.
func writePredictions(w io.Writer, m *gp.Model, parts []*gp.Prediction, asJSON bool) error {
	if asJSON {
		var targets []map[string]any
		for i, p := range parts {
			targets = append(targets, map[string]any{
				"name": m.Targets[i].Name, "mean": p.Mean, "std": p.Std, "lower95": p.Lower95, "upper95": p.Upper95, "std_latent": p.StdLatent,
			})
		}
		return encodeJSON(w, map[string]any{"type": "prediction", "schema_version": 1, "n": len(parts[0].Mean), "targets": targets}, nil)
	}
	b := bufio.NewWriter(w)
	var names []string
	var columns [][]float64
	for i, p := range parts {
		columns = append(columns, p.Mean, p.Std, p.Lower95, p.Upper95, p.StdLatent)
		for _, name := range []string{"mean", "std", "lower95", "upper95", "std_latent"} {
			names = append(names, m.Targets[i].Name+"."+name)
		}
	}
	header := csv.NewWriter(b)
	_ = header.Write(names) // b keeps the error for its own Flush
	header.Flush()
	for i := range parts[0].Mean {
		for q, column := range columns {
			if q > 0 {
				b.WriteByte(',')
			}
			b.Write(strconv.AppendFloat(b.AvailableBuffer(), column[i], 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

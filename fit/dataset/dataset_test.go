package dataset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/table"
	"gpfit/table/feature"
)

const text = `x,v,lab,held,a,b
1,0.1,p,0,10,20
2,0.2,q,1,11,
3,0.3,p,0,12,22
`

// TestRead checks which parts of a table are read into which fields.
func TestRead(t *testing.T) {
	path := filepath.Join(testcheck.Folder(t, map[string]string{"t.csv": text}), "t.csv")
	x := []string{"x"}
	for name, c := range map[string]struct {
		options Options
		want    problem.Data
	}{
		"one target": {Options{Target: "a", Features: x}, problem.Data{X: []float64{1, 2, 3}, Y: []float64{10, 11, 12}, N: 3, D: 1, FeatureNames: x, TargetName: "a"}},
		"noise": {Options{Target: "a", Features: x, NoiseColumn: "v", NoiseGroup: "lab"}, problem.Data{
			X: []float64{1, 2, 3}, Y: []float64{10, 11, 12}, N: 3, D: 1, FeatureNames: x, TargetName: "a",
			NoiseVariance: []float64{0.1, 0.2, 0.3}, NoiseColumn: "v", NoiseGroup: []string{"p", "q", "p"}, NoiseGroupColumn: "lab"}},
		"mask inside, rows dropped": {Options{Target: "b", NoiseGroup: "lab", Mask: path, MaskColumn: "held", DropMissing: true}, problem.Data{
			X: []float64{1, 0.1, 10, 3, 0.3, 12}, Y: []float64{20, 22}, N: 2, D: 3, FeatureNames: []string{"x", "v", "a"}, TargetName: "b",
			NoiseGroup: []string{"p", "p"}, NoiseGroupColumn: "lab", Row: []int{0, 2}, Test: []bool{false, false},
			Warnings: []string{`left out 1 of 3 rows: missing values (first: ` + path + `:3: column 6 ("b"): empty cell)`}}},
		"several targets": {Options{Targets: []string{"a", "b"}, Features: x, NoiseColumn: "v", Mask: path, MaskColumn: "held", DropMissing: true}, problem.Data{
			X: []float64{1, 3}, Y: []float64{10, 12, 20, 22}, N: 2, D: 1, FeatureNames: x, TargetNames: []string{"a", "b"},
			NoiseVariance: []float64{0.1, 0.3}, NoiseColumn: "v", Row: []int{0, 2}, Test: []bool{false, false},
			Warnings: []string{"left out 1 of 3 rows: a target is missing"}}},
		"no target": {Options{NoTarget: true, Features: []string{"a", "x"}}, problem.Data{X: []float64{10, 1, 11, 2, 12, 3}, N: 3, D: 2, FeatureNames: []string{"a", "x"}}},
	} {
		got, err := Read(path, nil, c.options)
		if want := (feature.Reading{Rows: 3, Columns: 6, Dropped: 3 - c.want.N}); got.Reading == nil || *got.Reading != want {
			t.Errorf("%s: %+v, want %+v", name, got.Reading, want)
		}
		got.Reading = nil
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}

	_, err := Read("-", strings.NewReader(text), Options{Targets: []string{"a", "b"}, Features: x})
	if !errors.As(err, new(*table.Error)) || err.Error() != `standard input:3: the target "b" is missing; option missing drop leaves such rows out` {
		t.Errorf("a target is missing: %v", err)
	}
	short := filepath.Join(testcheck.Folder(t, map[string]string{"m.csv": "held\n0\n1\n"}), "m.csv")
	if _, err := Read(path, nil, Options{Exclude: []string{"lab", "b"}, Mask: short}); err == nil || err.Error() != short+": the mask has 2 rows, but the table has 3" {
		t.Errorf("a short mask: %v", err)
	}
	if _, err := Read(path, nil, Options{Header: "maybe"}); err == nil {
		t.Error("a header that is neither yes nor no")
	}
}

// column generates a column of n cells of a random kind.
func column(t *rapid.T, n int, comma bool) []string {
	labels := rapid.SliceOfNDistinct(rapid.StringMatching(`q[a-z ,;"\[\]=é]{0,6}[a-z]`), 1, max(1, n/3), rapid.ID[string]).Draw(t, "labels")
	cell := rapid.SampledFrom([]*rapid.Generator[string]{
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(v float64) string {
			text := fmt.Sprint(v)
			if comma {
				text = strings.Replace(text, ".", ",", 1)
			}
			return text
		}),
		rapid.SampledFrom([]string{"yes", "No", "TRUE", "false"}),
		rapid.SampledFrom(labels),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%03d", rapid.IntRange(1, 9999).Draw(t, "y"), rapid.IntRange(1, 12).Draw(t, "m"),
				rapid.IntRange(1, 28).Draw(t, "d"), rapid.IntRange(0, 23).Draw(t, "h"), rapid.IntRange(0, 59).Draw(t, "min"), rapid.IntRange(0, 59).Draw(t, "s"), rapid.IntRange(0, 999).Draw(t, "ms"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(t, "h"), rapid.IntRange(0, 59).Draw(t, "m"))
		}),
	}).Draw(t, "kind")
	return rapid.SliceOfN(cell, n, n).Draw(t, "cells")
}

// TestModelFile checks that a table read for a model has the bits of the same table read
// for the fit, if the model's file has passed on the encoding.
func TestModelFile(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(6, 30).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "d")
		o := Options{Target: "target", Columns: feature.Rules{
			Codes: rapid.Bool().Draw(t, "codes"), Unit: rapid.SampledFrom(feature.Units()).Draw(t, "unit"), Origin: "1999-12-31T12:00:00+01:00",
		}}
		comma := rapid.Bool().Draw(t, "comma")
		if comma {
			o.Text.Decimal = ","
		}
		lines := make([]string, n+1)
		for c := range d {
			lines[0] += fmt.Sprintf("c%d;", c)
			for i, cell := range column(t, n, comma) {
				lines[i+1] += `"` + strings.ReplaceAll(cell, `"`, `""`) + `";`
			}
		}
		for i := range lines {
			lines[i] += fmt.Sprint(i)
		}
		lines[0] = strings.TrimSuffix(lines[0], "0") + "target"
		path := filepath.Join(dir, "t.csv")
		testcheck.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		data := testcheck.Get(Read(path, nil, o))(t)
		model := modelOf(data.X, data.Y, data.FeatureNames, data.Encoding)
		file := filepath.Join(dir, "m.gpfit")
		testcheck.Do(t, model.Save(file))
		read := testcheck.Get(gp.Load(file))(t)
		if diff := cmp.Diff(data.Encoding, read.Encoding); diff != "" {
			t.Fatal(diff)
		}
		in := testcheck.Get(OpenRows(path, nil, read, RowOptions{}))(t)
		defer in.Close()
		all := testcheck.Get(in.All())(t)
		if all.N != n {
			t.Fatalf("%d rows, want %d", all.N, n)
		}
		if diff := cmp.Diff(data.X, all.X, cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })); diff != "" {
			t.Fatal(diff)
		}
	})
}

// modelOf returns a model of all features with arbitrary parameters.
func modelOf(x, y []float64, names []string, e *feature.Encoding) *gp.Model {
	d := len(names)
	scale := slices.Repeat([]float64{1}, d)
	return &gp.Model{
		Kernel: "rbf", Columns: kernel.Columns(d), FeatureNames: names, TargetName: "target", Encoding: e,
		ParameterNames: []string{"lengthscale", "signal_variance"}, Theta: []float64{1, 1}, NoiseVariance: 1,
		Scaling: gp.Scaling{XMean: make([]float64, d), XScale: scale, YScale: 1},
		X:       x, Y: y, Alpha: make([]float64, len(y)),
	}
}

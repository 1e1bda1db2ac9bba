package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/feature"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// encodedModel returns a model whose features come from columns of every kind, and the
// cells of its training rows.
func encodedModel(t testing.TB) (*Model, [][]string) {
	t.Helper()
	e := &feature.Encoding{Decimal: ",", Columns: []feature.Coding{
		{Name: "n", Kind: feature.Number}, {Name: "b", Kind: feature.Boolean},
		{Name: "k", Kind: feature.Category, Categories: []string{"x, y", "é"}},
		{Name: "c", Kind: feature.Category, Categories: []string{"low", "mid", "high"}, Codes: true},
		{Name: "d", Kind: feature.Date, Unit: feature.Years, Origin: "2000-01-01"}, {Name: "t", Kind: feature.Clock, Unit: feature.Hours},
	}}
	names := e.Features()
	m := &Model{
		Kernel: "rbf", Columns: kernel.Columns(len(names)), FeatureNames: names, TargetName: "y", Encoding: e,
		ParameterNames: []string{"lengthscale", "signal_variance"}, Theta: []float64{1.5, 1.2}, NoiseVariance: 0.1, Status: "converged",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var cells [][]string
	for i := range 20 {
		row := []string{
			fmt.Sprintf("%d,%d", i%7, i), []string{"yes", "no", "TRUE"}[i%3], e.Columns[2].Categories[rng.IntN(2)], e.Columns[3].Categories[rng.IntN(3)],
			fmt.Sprintf("20%02d-0%d-11 0%d:30:00", rng.IntN(99), 1+i%9, i%7), fmt.Sprintf("%02d:%02d", rng.IntN(24), i),
		}
		x := must.Get(e.Row(row))(t)
		cells, m.X, m.Y = append(cells, row), append(m.X, x...), append(m.Y, rng.NormFloat64())
	}
	m.Scaling = NewScaling(StandardizeXY, m.X, m.Y, len(names))
	m.Alpha = make([]float64, len(m.Y))
	weigh(t, m)
	return m, cells
}

// TestVersion3 reads a file in the third schema version, and checks that models without
// columns of other kinds keep the second.
func TestVersion3(t *testing.T) {
	fresh, _ := encodedModel(t)
	m := must.Get(Load("testdata/v3_encoding.gpfit"))(t)
	// The weights depend on the CPU that wrote the file; the rest is exact.
	if diff := cmp.Diff(fresh, m, cmpopts.IgnoreUnexported(Model{}), cmpopts.IgnoreFields(Model{}, "Alpha")); diff != "" {
		t.Error(diff)
	}
	if versionOf(fresh) != 3 || versionOf(newModel(t, 5)) != 2 {
		t.Error("versions", versionOf(fresh), versionOf(newModel(t, 5)))
	}
	for what, change := range map[string]func(*Model){
		"kind":     func(m *Model) { m.Encoding.Columns[0].Kind = "colour" },
		"names":    func(m *Model) { m.FeatureNames[0] = "m" },
		"decimals": func(m *Model) { m.Encoding.Decimal = "'" },
	} {
		bad, _ := encodedModel(t)
		change(bad)
		if bad.validate() == nil {
			t.Errorf("a model with bad %s passes", what)
		}
	}
}

// TestReadEncoding checks that examples/read_model.py reads tables as gpfit does.
func TestReadEncoding(t *testing.T) {
	interpreter := python(t, "numpy")
	m, cells := encodedModel(t)
	want := must.Get(condition(t, m).Predict(context.Background(), m.X, m.N()))(t)
	text := "t,k,n,b,c,d\n"
	for _, row := range cells {
		text += fmt.Sprintf("%s,\"%s\",\"%s\",%s,%s,%s\n", row[5], row[2], row[0], row[1], row[3], row[4])
	}
	dir := t.TempDir()
	e := exchange{what: "encoding", model: filepath.Join(dir, "m.json"), points: filepath.Join(dir, "new.csv")}
	var export strings.Builder
	must.Do(t, errors.Join(ExportJSON(m, &export), os.WriteFile(e.model, []byte(export.String()), 0o600), os.WriteFile(e.points, []byte(text), 0o600)))
	tables := must.Get(runPython(t, interpreter, "read_model", e))(t)
	compareTable(t, "encoding", tables[0], want.Mean, want.Std, want.StdLatent)
	if math.Abs(want.Mean[0]) == 0 {
		t.Error("the mean is 0")
	}
}

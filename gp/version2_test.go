package gp

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/must"
	"gpfit/mean"
)

// version2Models use all additions of version 2: several targets, noise groups,
// known noise, and a mean with bumps and powers by least squares. The file of each
// is testdata/NAME.gpfit.
func version2Models(t testing.TB) map[string]*Model {
	known := noisyModel(t, 12)
	known.Mean.Text, known.Mean.LeastSquares = "linear + bumps(1, dims=0)", true
	known.Mean.Basis = append(mean.Basis{{Group: mean.Bump, Centre: 0.5, Width: 1.25}}, known.Mean.Basis...)
	known.Mean.Coefficients = append([]float64{0.75}, known.Mean.Coefficients...)

	several := newModel(t, 12)
	several.NoiseVariance = 0
	several.Noise = Noise{GroupColumn: "lab", Labels: []string{"a", "b"}, Variances: []float64{0.02, 0.3}}
	several.Mean.Text, several.Mean.LeastSquares = "poly(2, dims=0)", true
	several.Mean.Basis = mean.Basis{{Group: mean.Linear, Index: 1}, {Group: mean.Power, Index: 2}, {Group: mean.Constant}}
	for i := range 12 {
		several.TrainNoise = append(several.TrainNoise, several.Noise.Variances[i%2])
		several.Y = append(several.Y, float64(i*i))
	}
	several.Alpha = append(several.Alpha, several.Alpha...)
	several.Targets = []Target{
		{Name: "y", YMean: several.Scaling.YMean, YScale: several.Scaling.YScale, Coefficients: several.Mean.Coefficients, NLML: 7},
		{Name: "z", YMean: 40, YScale: 45, Coefficients: []float64{1, 2, 3}, NLML: 5.5},
	}
	return map[string]*Model{"v2_known": known, "v2_targets": several}
}

// TestVersion2 reads files in the second schema version.
func TestVersion2(t *testing.T) {
	for name, fresh := range version2Models(t) {
		m := must.Get(Load("testdata/" + name + ".gpfit"))(t)
		// The weights depend on the CPU that wrote the file; the rest is exact.
		if diff := cmp.Diff(fresh, m, cmpopts.IgnoreUnexported(Model{}), cmpopts.IgnoreFields(Model{}, "Alpha")); diff != "" {
			t.Error(diff)
		}
		for i := range m.Alpha {
			if math.Abs(m.Alpha[i]-fresh.Alpha[i]) > 1e-9*(1+math.Abs(m.Alpha[i])) {
				t.Fatalf("α[%d] = %v, want %v", i, m.Alpha[i], fresh.Alpha[i])
			}
		}
		for _, m := range []*Model{m, fresh} {
			p := must.Get(m.Condition(context.Background(), backend))(t)
			defer p.Close()
			preds, err := p.PredictTargets(context.Background(), newRows(3), 3, RowNoise{DefaultGroup: "b"})
			if err != nil || len(preds) != m.T() || !(preds[0].StdLatent[0] > 0) {
				t.Errorf("%s: predictions %v, %v", name, preds, err)
			}
		}
	}
}

func TestInvalidTargets(t *testing.T) {
	for what, change := range map[string]func(*Model){
		"coefficients": func(m *Model) { m.Targets[1].Coefficients = nil },
		"scale":        func(m *Model) { m.Targets[0].YScale = 0 },
		"data":         func(m *Model) { m.Y = m.Y[1:] },
		"known":        func(m *Model) { m.Noise.Column = "v" },
		"weights":      func(m *Model) { m.Alpha = m.Alpha[:12] },
	} {
		m := version2Models(t)["v2_targets"]
		change(m)
		if m.validate() == nil {
			t.Errorf("a model with bad %s passes", what)
		}
	}
}

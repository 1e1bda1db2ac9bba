package gp

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/must"
)

// withDraws returns the model with draws around its parameters.
func withDraws(m *Model, count int) *Model {
	one := *m
	d := &Draws{Method: "hmc"}
	for k := range count {
		scale := math.Exp(0.3 * float64(k-count/2))
		theta := append([]float64(nil), m.Theta...)
		for i := range theta {
			theta[i] *= scale
		}
		d.Theta = append(d.Theta, theta)
		if len(m.Noise.Labels) > 0 {
			var noise []float64
			for _, v := range m.Noise.Variances {
				noise = append(noise, v*scale)
			}
			d.Noise = append(d.Noise, noise)
			continue
		}
		d.Noise = append(d.Noise, []float64{m.NoiseVariance / scale})
	}
	one.Draws = d
	return &one
}

// TestMixture compares with the average of the models of the draws, each conditioned
// alone, and quantiles with the distribution function of the mixture.
func TestMixture(t *testing.T) {
	ctx := context.Background()
	rows := newRows(9)
	for name, m := range variants(t, 50) {
		m = withDraws(m, 3)
		var noise RowNoise
		if m.Noise.Column != "" {
			for range 9 {
				noise.Known = append(noise.Known, 0.4)
			}
		}
		x := must.Get(NewMixture(ctx, m, backend, 0))(t)
		got, err := x.Predict(ctx, rows, 9, noise)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var parts [][]*Prediction
		for k := range 3 {
			one := settled(t, drawnModel(m, k))
			if m.Noise.Column != "" && math.Abs((one.TrainNoise[3]-one.NoiseVariance)-(m.TrainNoise[3]-m.NoiseVariance)) > 1e-15 {
				t.Errorf("known variance %v, want %v", one.TrainNoise[3]-one.NoiseVariance, m.TrainNoise[3]-m.NoiseVariance)
			}
			p := must.Get(one.Condition(ctx, backend))(t)
			part := must.Get(p.PredictTargets(ctx, rows, 9, noise))(t)
			p.Close()
			parts = append(parts, part)
		}
		for target, g := range got {
			lower, upper := g.Interval(0.8)
			for i := range 9 {
				mean, square, latent, below, above := 0.0, 0.0, 0.0, 0.0, 0.0
				for k := range parts {
					q := parts[k][target]
					mean += q.Mean[i] / 3
					square += (q.Std[i]*q.Std[i] + q.Mean[i]*q.Mean[i]) / 3
					latent += (q.StdLatent[i]*q.StdLatent[i] + q.Mean[i]*q.Mean[i]) / 3
					below += 0.5 * math.Erfc((q.Mean[i]-lower[i])/(q.Std[i]*math.Sqrt2)) / 3
					above += 0.5 * math.Erfc((upper[i]-q.Mean[i])/(q.Std[i]*math.Sqrt2)) / 3
				}
				if math.Abs(g.Mean[i]-mean) > 1e-8*math.Abs(mean) || math.Abs(g.Std[i]-math.Sqrt(square-mean*mean)) > 1e-5*g.Std[i] || math.Abs(g.StdLatent[i]-math.Sqrt(latent-mean*mean)) > 1e-5*g.Std[i] {
					t.Errorf("%s, row %d: %v ± %v, want %v ± %v", name, i, g.Mean[i], g.Std[i], mean, math.Sqrt(square-mean*mean))
				}
				if math.Abs(below-0.1) > 1e-9 || math.Abs(above-0.1) > 1e-9 {
					t.Errorf("%s, row %d: %v below and %v above the interval", name, i, below, above)
				}
			}
		}
		x.Close()
	}
}

// TestMixtureLimit checks which draws a limit takes.
func TestMixtureLimit(t *testing.T) {
	m := withDraws(newModel(t, 20), 10)
	for limit, want := range map[int][]int{0: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1: {5}, 2: {2, 7}, 5: {1, 3, 5, 7, 9}, 99: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		x := must.Get(NewMixture(context.Background(), m, backend, limit))(t)
		if d := cmp.Diff(want, x.use); d != "" {
			t.Errorf("limit %d: %s", limit, d)
		}
		x.Close()
	}
	if _, err := NewMixture(context.Background(), newModel(t, 20), backend, 0); err == nil {
		t.Error("a mixture without draws")
	}
}

// TestDrawsFile checks that a model with draws is read back, as version 4, and that draws
// that no model can have are refused.
func TestDrawsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gpfit")
	m := withDraws(newModel(t, 12), 4)
	must.Do(t, m.Save(path))
	got, info, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Draws, got.Draws); d != "" || info.SchemaVersion != 4 {
		t.Errorf("version %d\n%s", info.SchemaVersion, d)
	}
	for name, spoil := range map[string]func(d *Draws){
		"a short draw":      func(d *Draws) { d.Theta[2] = d.Theta[2][:1] },
		"a negative number": func(d *Draws) { d.Theta[1] = []float64{1, 1, -1, 1, 1} },
		"no noise":          func(d *Draws) { d.Noise = nil },
		"a coefficient":     func(d *Draws) { d.Coefficients = [][]float64{{1}} },
	} {
		bad := withDraws(newModel(t, 12), 4)
		spoil(bad.Draws)
		if err := bad.Save(path); err == nil || !strings.Contains(err.Error(), "draw") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

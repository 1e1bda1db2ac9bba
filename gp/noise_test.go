package gp

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
)

// noisyModel returns a model with different noise on every row: two groups, and a
// known variance of (i mod 3)/20 for row i.
func noisyModel(t testing.TB, n int) *Model {
	t.Helper()
	m := newModel(t, n)
	m.NoiseVariance = 0
	m.Noise = Noise{Column: "variance", GroupColumn: "lab", Labels: []string{"a", "b"}, Variances: []float64{0.02, 0.3}}
	for i := range n {
		m.TrainNoise = append(m.TrainNoise, m.Noise.Variances[i%2]+0.05*float64(i%3))
	}
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	m.Alpha = m.Scaling.Targets(m.Y)
	for i, v := range meanValues(m, m.Scaling.Inputs(m.X), n) {
		m.Alpha[i] -= v
	}
	must.Do(t, p.ws.Solve(context.Background(), m.Alpha, 1))
	return m
}

func TestRowNoise(t *testing.T) {
	const n, points = 40, 6
	m := noisyModel(t, n)
	ref := newReference(t, m)
	square := m.Scaling.YScale * m.Scaling.YScale
	sigma := mat.NewDense(n, n, nil)
	for i, a := range ref.x {
		for j, b := range ref.x {
			sigma.Set(i, j, ref.k(a, b))
		}
		sigma.Set(i, i, sigma.At(i, i)+square*m.TrainNoise[i])
	}
	must.Do(t, ref.inv.Inverse(sigma))
	rows := newRows(points)
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	known := []float64{0, 1, 2, 3, 4, 5}
	group := []string{"a", "b", "b", "a", "c", "a"}
	for what, c := range map[string]struct {
		row  RowNoise
		want func(i int) float64
	}{
		"default":     {RowNoise{DefaultGroup: "b"}, func(int) float64 { return 0.3 * square }},
		"group":       {RowNoise{Group: group, DefaultGroup: "b"}, func(i int) float64 { return square * []float64{0.02, 0.3, 0.3, 0.02, 0.3, 0.02}[i] }},
		"known":       {RowNoise{Known: known, DefaultGroup: "a"}, func(i int) float64 { return 0.02*square + known[i] }},
		"known group": {RowNoise{Known: known, Group: group, DefaultGroup: "a"}, func(i int) float64 { return square*[]float64{0.02, 0.3, 0.3, 0.02, 0.02, 0.02}[i] + known[i] }},
	} {
		got := must.Get(p.PredictNoise(context.Background(), rows, points, c.row))(t)
		joint := must.Get(p.Joint(context.Background(), rows, points, JointOptions{Observed: true, Noise: c.row}))(t)
		for i := range points {
			x := []float64{rows[3*i], rows[3*i+2]}
			mean, latent := ref.posteriorMean(x), ref.posteriorCov(x, x)
			std := math.Sqrt(latent + c.want(i))
			if math.Abs(got.Mean[i]-mean) > 1e-9*math.Abs(mean) || math.Abs(got.Std[i]-std) > 1e-8*std || math.Abs(got.StdLatent[i]-math.Sqrt(latent)) > 1e-8*std {
				t.Errorf("%s, row %d: %v ± %v, want %v ± %v", what, i, got.Mean[i], got.Std[i], mean, std)
			}
			if v := joint.Cov[i*points+i]; math.Abs(v-std*std) > 1e-8*std*std {
				t.Errorf("%s, row %d: joint variance %v, want %v", what, i, v, std*std)
			}
		}
	}
	for what, c := range map[string]struct {
		row  RowNoise
		word string
	}{
		"no group":      {RowNoise{}, `each group of the column "lab", but the rows have no groups; the model's groups are a, b`},
		"unknown group": {RowNoise{Group: group}, `row 5 (from 1): the model has no noise group "c"`},
		"bad default":   {RowNoise{DefaultGroup: "z"}, `noise group "z"`},
		"short":         {RowNoise{Known: known[1:], DefaultGroup: "a"}, "5 known variances"},
		"negative":      {RowNoise{Known: []float64{0, 0, -1, 0, 0, 0}, DefaultGroup: "a"}, "row 3 (from 1): the noise variance is -1"},
		"NaN":           {RowNoise{Known: []float64{0, 0, math.NaN(), 0, 0, 0}, DefaultGroup: "a"}, "row 3"},
	} {
		if _, err := p.PredictNoise(context.Background(), rows, points, c.row); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: error %v, want %q", what, err, c.word)
		}
	}
	var ne *NoiseError
	if _, err := p.Predict(context.Background(), rows, points); !errors.As(err, &ne) || ne.Row != -1 {
		t.Errorf("error %v, want a NoiseError", err)
	}
	if _, err := noisesOf(newModel(t, 5), 6, RowNoise{Known: known}); err == nil {
		t.Error("known variances accepted by a model without")
	}
}

// TestSaveNoise checks that the rows' variances are in the file and in the
// covariance that Condition forms.
func TestSaveNoise(t *testing.T) {
	m := noisyModel(t, 30)
	m.Jitter = 1e-9
	path := filepath.Join(t.TempDir(), "m.gpfit")
	must.Do(t, m.Save(path))
	again := must.Get(Load(path))(t)
	if diff := equalModels(m, again); diff != "" {
		t.Errorf("saved and loaded models differ:\n%s", diff)
	}
	want, err1 := conditionAndPredict(m)
	got, err2 := conditionAndPredict(again)
	if diff := cmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil {
		t.Errorf("predictions differ: %v %v\n%s", err1, err2, diff)
	}
}

func conditionAndPredict(m *Model) (*Prediction, error) {
	p, err := m.Condition(context.Background(), backend)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.PredictNoise(context.Background(), newRows(5), 5, RowNoise{DefaultGroup: "a"})
}

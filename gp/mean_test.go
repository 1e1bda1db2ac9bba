package gp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// leastSquaresModel returns the model of newModel with the best coefficients on its
// rows, computed from the posterior's factor.
func leastSquaresModel(t testing.TB, n int) *Model {
	t.Helper()
	m := newModel(t, n)
	m.Mean.LeastSquares = true
	refitLeastSquares(t, m)
	return m
}

// TestUniversalKriging computes eq. 2.41 and 2.42 of Rasmussen & Williams
// with explicit inverses in original units: mean, variances and covariances.
func TestUniversalKriging(t *testing.T) {
	const n, points = 50, 12
	m := leastSquaresModel(t, n)
	ref := newReference(t, m)
	h := func(x []float64) *mat.VecDense { return mat.NewVecDense(3, []float64{1, x[0] - 3, x[1]}) }
	H := mat.NewDense(n, 3, nil)
	y := mat.NewVecDense(n, m.Y)
	for i, x := range ref.x {
		H.SetRow(i, h(x).RawVector().Data)
	}
	var hs, M, minv mat.Dense
	hs.Mul(H.T(), &ref.inv)
	M.Mul(&hs, H)
	testcheck.Do(t, minv.Inverse(&M))
	var hy, beta, fitted, resid mat.VecDense
	hy.MulVec(&hs, y)
	beta.MulVec(&minv, &hy)
	fitted.MulVec(H, &beta)
	resid.SubVec(y, &fitted)
	r := func(x []float64) *mat.VecDense {
		var out mat.VecDense
		out.MulVec(&hs, ref.cross(x))
		out.SubVec(h(x), &out)
		return &out
	}
	rows := newRows(points)
	p := condition(t, m)
	got := testcheck.Get(p.Predict(t.Context(), rows, points))(t)
	joint := testcheck.Get(p.Joint(t.Context(), rows, points, JointOptions{Observed: true}))(t)
	scale := m.Scaling.YScale * m.Scaling.YScale
	larger := 0
	for i := range points {
		a := used(rows, i)
		wantMean := mat.Dot(h(a), &beta) + mat.Inner(ref.cross(a), &ref.inv, &resid)
		if math.Abs(got.Mean[i]-wantMean) > 1e-9*math.Abs(wantMean) || math.Abs(joint.Mean[i]-wantMean) > 1e-9*math.Abs(wantMean) {
			t.Errorf("row %d: mean %v, joint %v, want %v", i, got.Mean[i], joint.Mean[i], wantMean)
		}
		for k := range points {
			b := used(rows, k)
			want := ref.posteriorCov(a, b) + mat.Inner(r(a), &minv, r(b))
			if i == k {
				if math.Abs(got.StdLatent[i]-math.Sqrt(want)) > 1e-8*math.Sqrt(want) {
					t.Errorf("row %d: latent deviation %v, want %v", i, got.StdLatent[i], math.Sqrt(want))
				}
				if want > 1.05*ref.posteriorCov(a, a) {
					larger++
				}
				want += ref.noise
			}
			if math.Abs(joint.Cov[i*points+k]-want) > 1e-9*(scale+math.Abs(want)) {
				t.Errorf("rows %d, %d: covariance %v, want %v", i, k, joint.Cov[i*points+k], want)
			}
		}
	}
	if larger < points/2 {
		t.Errorf("only %d of %d rows show the uncertainty of the mean: the test sees nothing", larger, points)
	}
}

// TestVaguePrior: universal kriging is the limit of a Gaussian process whose
// kernel has b²h(x)ᵀh(x') added, for large b.
func TestVaguePrior(t *testing.T) {
	const n = 40
	m := leastSquaresModel(t, n)
	// The prior's precision 1/b² is added to M, which is 10 or more. The condition
	// number of 1e6 leaves six digits of a variance that is small compared with b².
	ref := newVagueReference(t, m, 1e3)
	rows := newRows(6)
	got := predict(t, m, rows)
	for i := range 6 {
		x := used(rows, i)
		mu, std := ref.posteriorMean(x), math.Sqrt(ref.posteriorCov(x, x))
		if math.Abs(got.Mean[i]-mu) > 1e-3*m.Scaling.YScale || math.Abs(got.StdLatent[i]-std) > 1e-3*std {
			t.Errorf("row %d: %v ± %v, with a vague prior %v ± %v", i, got.Mean[i], got.StdLatent[i], mu, std)
		}
	}
}

// TestMeanSlopes compares slopes with central differences of the mean.
func TestMeanSlopes(t *testing.T) {
	m := newModel(t, 20)
	x := []float64{0.3, -1.2, 2, 0.1}
	grad := make([]float64, 4)
	m.Mean.addSlopes(kernel.NewPoints(x, 2, 2), grad)
	for i := range x {
		const step = 1e-4
		up, down := slices.Clone(x), slices.Clone(x)
		up[i] += step
		down[i] -= step
		want := (m.Mean.at(kernel.NewPoints(up, 2, 2))[i/2] - m.Mean.at(kernel.NewPoints(down, 2, 2))[i/2]) / (2 * step)
		if math.Abs(grad[i]-want) > 1e-10 {
			t.Errorf("slope %d is %v, central difference %v", i, grad[i], want)
		}
	}
}

// TestUpgradeMean reads the mean of version-1 files.
func TestUpgradeMean(t *testing.T) {
	for text, want := range map[string]float64{
		`{"columns": [0, 2], "mean_constant": 0}`:                                 0,
		`{"columns": [0, 2], "mean_constant": 0.25}`:                              0.25,
		`{"columns": [0, 2], "mean_constant": 0.25, "mean_linear": [2, -1]}`:      0.25 + 2*3 - 5,
		`{"columns": [0, 2], "mean_constant": 0, "mean_linear": [2, -1], "n": 7}`: 2*3 - 5,
	} {
		mean := testcheck.Get(upgradeMean([]byte(text)))(t)
		if got := mean.at(kernel.NewPoints([]float64{3, 5}, 1, 2))[0]; got != want || mean.validate(2) != nil {
			t.Errorf("%s: m(3, 5) = %v, want %v", text, got, want)
		}
	}
	if _, err := upgradeMean([]byte(`{"columns": [0], "mean_linear": [1, 2]}`)); err == nil {
		t.Error("two slopes for one column accepted")
	}
}

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
	weigh(t, m)
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
	testcheck.Do(t, ref.inv.Inverse(sigma))
	rows := newRows(points)
	p := condition(t, m)
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
		got := testcheck.Get(p.PredictNoise(t.Context(), rows, points, c.row))(t)
		joint := testcheck.Get(p.Joint(t.Context(), rows, points, JointOptions{Observed: true, Noise: c.row}))(t)
		for i := range points {
			x := used(rows, i)
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
		if _, err := p.PredictNoise(t.Context(), rows, points, c.row); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: error %v, want %q", what, err, c.word)
		}
	}
	var ne *NoiseError
	if _, err := p.Predict(t.Context(), rows, points); !errors.As(err, &ne) || ne.Row != -1 {
		t.Errorf("error %v, want a NoiseError", err)
	}
	if _, err := (RowNoise{Known: known}).Variances(newModel(t, 5), 6); err == nil {
		t.Error("known variances accepted by a model without")
	}
}

// TestSaveNoise checks that the rows' variances are in the file and in Condition's covariance.
func TestSaveNoise(t *testing.T) {
	m := noisyModel(t, 30)
	m.Jitter = 1e-9
	again := testcheck.Get(Load(saved(t, m.Save)))(t)
	if diff := equalModels(m, again); diff != "" {
		t.Errorf("saved and loaded models differ:\n%s", diff)
	}
	predictions := func(m *Model) *Prediction {
		return testcheck.Get(condition(t, m).PredictNoise(t.Context(), newRows(5), 5, RowNoise{DefaultGroup: "a"}))(t)
	}
	if diff := cmp.Diff(predictions(m), predictions(again)); diff != "" {
		t.Errorf("predictions differ:\n%s", diff)
	}
}

// reference computes posteriors of newModel's models with an explicit inverse, in
// original units throughout. It uses no code of the package.
type reference struct {
	// k returns the sum of the terms.
	k     func(a, b []float64) float64
	terms [2]func(a, b []float64) float64
	mean  func(a []float64) float64
	noise float64
	x     [][]float64
	inv   mat.Dense
	resid *mat.VecDense
}

func newReference(t testing.TB, m *Model) *reference {
	t.Helper()
	s := m.Scaling
	r := &reference{
		noise: m.NoiseVariance * s.YScale * s.YScale,
		terms: [2]func(a, b []float64) float64{
			func(a, b []float64) float64 {
				u, v := (a[0]-b[0])/s.XScale[0], (a[1]-b[1])/s.XScale[1]
				return s.YScale * s.YScale * 1.2 * math.Exp(-(u*u/(0.7*0.7)+v*v/(1.4*1.4))/2)
			},
			func(a, b []float64) float64 {
				u, v := (a[0]-b[0])/s.XScale[0], (a[1]-b[1])/s.XScale[1]
				r := math.Sqrt(3) * math.Sqrt(u*u+v*v) / 3
				return s.YScale * s.YScale * 0.5 * (1 + r) * math.Exp(-r)
			},
		},
		mean: func(a []float64) float64 {
			return s.YMean + s.YScale*(0.3-0.2*(a[0]-s.XMean[0])/s.XScale[0]+0.1*(a[1]-s.XMean[1])/s.XScale[1])
		},
	}
	r.k = func(a, b []float64) float64 { return r.terms[0](a, b) + r.terms[1](a, b) }
	var y []float64
	for i := range m.N() {
		r.x = append(r.x, m.X[2*i:2*i+2])
		y = append(y, m.Y[i])
	}
	r.condition(t, y)
	return r
}

// newVagueReference adds the prior of the coefficients of a linear mean with a variance to
// the reference, in place of its mean.
func newVagueReference(t testing.TB, m *Model, variance float64) *reference {
	t.Helper()
	s, ref := m.Scaling, newReference(t, m)
	plain := ref.k
	ref.k = func(a, b []float64) float64 {
		h := 1.0
		for c := range 2 {
			h += (a[c] - s.XMean[c]) / s.XScale[c] * (b[c] - s.XMean[c]) / s.XScale[c]
		}
		return plain(a, b) + variance*s.YScale*s.YScale*h
	}
	ref.mean = func([]float64) float64 { return s.YMean } // in the span of h
	ref.condition(t, m.Y)
	return ref
}

// condition sets the data: r.x with targets y.
func (r *reference) condition(t testing.TB, y []float64) {
	t.Helper()
	n := len(r.x)
	sigma := mat.NewDense(n, n, nil)
	r.resid = mat.NewVecDense(n, nil)
	for i, xi := range r.x {
		for j, xj := range r.x {
			sigma.Set(i, j, r.k(xi, xj))
		}
		sigma.Set(i, i, sigma.At(i, i)+r.noise)
		r.resid.SetVec(i, y[i]-r.mean(xi))
	}
	testcheck.Do(t, r.inv.Inverse(sigma))
}

func (r *reference) cross(x []float64) *mat.VecDense { return r.crossOf(r.k, x) }

func (r *reference) crossOf(k func(a, b []float64) float64, x []float64) *mat.VecDense {
	v := mat.NewVecDense(len(r.x), nil)
	for i, xi := range r.x {
		v.SetVec(i, k(x, xi))
	}
	return v
}

// term returns the posterior of a term at x.
func (r *reference) term(number int, x []float64) (mean, variance float64) {
	k := r.terms[number]
	cross := r.crossOf(k, x)
	return mat.Inner(cross, &r.inv, r.resid), k(x, x) - mat.Inner(cross, &r.inv, cross)
}

func (r *reference) posteriorMean(x []float64) float64 {
	return r.mean(x) + mat.Inner(r.cross(x), &r.inv, r.resid)
}

// posteriorCov returns the covariance of the function at a and b.
func (r *reference) posteriorCov(a, b []float64) float64 {
	return r.k(a, b) - mat.Inner(r.cross(a), &r.inv, r.cross(b))
}

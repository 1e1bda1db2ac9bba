package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
)

// leastSquaresModel returns the model of newModel with the best coefficients on its
// rows, computed from the posterior's factor.
func leastSquaresModel(t testing.TB, n int) *Model {
	t.Helper()
	m := newModel(t, n)
	m.Mean.LeastSquares = true
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	must.Do(t, p.leastSquares(context.Background()))
	m.Alpha = m.Scaling.Targets(m.Y)
	m.Mean.Coefficients = p.gls.Coefficients(m.Alpha)
	for i, v := range meanValues(m, m.Scaling.Inputs(m.X), n) {
		m.Alpha[i] -= v
	}
	must.Do(t, p.ws.Solve(context.Background(), m.Alpha, 1))
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
	must.Do(t, minv.Inverse(&M))
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
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	got := must.Get(p.Predict(context.Background(), rows, points))(t)
	joint := must.Get(p.Joint(context.Background(), rows, points, JointOptions{Observed: true}))(t)
	scale := m.Scaling.YScale * m.Scaling.YScale
	larger := 0
	for i := range points {
		a := []float64{rows[3*i], rows[3*i+2]}
		wantMean := mat.Dot(h(a), &beta) + mat.Inner(ref.cross(a), &ref.inv, &resid)
		if math.Abs(got.Mean[i]-wantMean) > 1e-9*math.Abs(wantMean) || math.Abs(joint.Mean[i]-wantMean) > 1e-9*math.Abs(wantMean) {
			t.Errorf("row %d: mean %v, joint %v, want %v", i, got.Mean[i], joint.Mean[i], wantMean)
		}
		for k := range points {
			b := []float64{rows[3*k], rows[3*k+2]}
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
	s := m.Scaling
	ref := newReference(t, m)
	plain := ref.k
	// The prior's precision 1/b² is added to M, which is 10 or more. The condition
	// number of 1e6 leaves six digits of a variance that is small compared with b².
	const vague = 1e3
	ref.k = func(a, b []float64) float64 {
		h := 1.0
		for c := range 2 {
			h += (a[c] - s.XMean[c]) / s.XScale[c] * (b[c] - s.XMean[c]) / s.XScale[c]
		}
		return plain(a, b) + vague*s.YScale*s.YScale*h
	}
	ref.mean = func([]float64) float64 { return s.YMean } // in the span of h
	ref.condition(t, m.Y)
	rows := newRows(6)
	got := predict(t, m, rows)
	for i := range 6 {
		x := []float64{rows[3*i], rows[3*i+2]}
		mu, std := ref.posteriorMean(x), math.Sqrt(ref.posteriorCov(x, x))
		if math.Abs(got.Mean[i]-mu) > 1e-3*s.YScale || math.Abs(got.StdLatent[i]-std) > 1e-3*std {
			t.Errorf("row %d: %v ± %v, with a vague prior %v ± %v", i, got.Mean[i], got.StdLatent[i], mu, std)
		}
	}
}

// TestMeanSlopes compares slopes with central differences of the mean.
func TestMeanSlopes(t *testing.T) {
	m := newModel(t, 20)
	x := []float64{0.3, -1.2, 2, 0.1}
	grad := make([]float64, 4)
	meanSlopes(m, x, grad)
	for i := range x {
		const step = 1e-4
		up, down := slices.Clone(x), slices.Clone(x)
		up[i] += step
		down[i] -= step
		want := (meanValues(m, up, 2)[i/2] - meanValues(m, down, 2)[i/2]) / (2 * step)
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
		mean := must.Get(upgradeMean([]byte(text)))(t)
		m := &Model{Columns: []int{0, 2}, Mean: mean}
		if got := meanValues(m, []float64{3, 5}, 1)[0]; got != want || mean.validate(2) != nil {
			t.Errorf("%s: m(3, 5) = %v, want %v", text, got, want)
		}
	}
	if _, err := upgradeMean([]byte(`{"columns": [0], "mean_linear": [1, 2]}`)); err == nil {
		t.Error("two slopes for one column accepted")
	}
}

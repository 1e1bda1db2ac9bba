package gp

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestTerms compares each term with an explicit inverse.
func TestTerms(t *testing.T) {
	m := newModel(t, 50)
	ref := newReference(t, m)
	terms, meanFunction := checkTerms(t, m, ref, 1e-10, 1e-9)
	if len(terms) != 2 || terms[0].Path != "k1" || terms[1].Path != "k2" || terms[0].Text != "rbf(ard)" || terms[1].Text != "matern32" {
		t.Fatalf("terms %+v", terms)
	}
	rows := newRows(len(meanFunction))
	want := testcheck.Slice(len(meanFunction), func(i int) float64 { return ref.mean(used(rows, i)) })
	testcheck.Near(t, "mean function", meanFunction, want, 1e-13, 0)
}

// checkTerms compares the terms of a prediction with the reference, within tolerances in
// units of the scale of y, and their sum with the mean. It returns the terms.
func checkTerms(t *testing.T, m *Model, ref *reference, meanTol, stdTol float64) (terms []TermPrediction, meanFunction []float64) {
	t.Helper()
	const points = 10
	rows := newRows(points)
	terms, meanFunction = testcheck.Get2(condition(t, m).Terms(t.Context(), rows, points))(t)
	whole := predict(t, m, rows)
	for i := range points {
		x, sum := used(rows, i), meanFunction[i]
		for k, term := range terms {
			mean, variance := ref.term(k, x)
			if math.Abs(term.Mean[i]-mean) > meanTol*m.Scaling.YScale || math.Abs(term.Std[i]-math.Sqrt(variance)) > stdTol*m.Scaling.YScale {
				t.Errorf("row %d, %s: %v ± %v, want %v ± %v", i, term.Path, term.Mean[i], term.Std[i], mean, math.Sqrt(variance))
			}
			sum += term.Mean[i]
		}
		if math.Abs(sum-whole.Mean[i]) > 1e-12*math.Abs(sum) {
			t.Errorf("row %d: terms add up to %v, want %v", i, sum, whole.Mean[i])
		}
	}
	return terms, meanFunction
}

// TestTermsLeastSquares checks that with coefficients by least squares, the terms sum to the
// mean, and that a single term is as uncertain as the whole without the mean function. In the
// limit of a vague prior on β, this is the posterior of that term of k + b·Σ h h'.
func TestTermsLeastSquares(t *testing.T) {
	m := leastSquaresModel(t, 40)
	checkTerms(t, m, newVagueReference(t, m, 1e4), 1e-4, 1e-4) // 1/b is compared with M, which is 10 or more
}

// TestTermPaths checks that paths agree with the parameters' names, and that terms sum to the mean.
func TestTermPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"rbf":                              {"k1"},
		"tent(dims=0) + rbf":               {"k1", "k2"}, // a custom kernel
		"rbf*(matern12 + rbf)":             {"k1"},
		"rbf + matern12*rbf + linear":      {"k1", "k2", "k3"},
		"rbf + (matern12 + linear*rbf)":    {"k1", "k2.k1", "k2.k2"},
		"(rbf + constant) + (linear + rq)": {"k1.k1", "k1.k2", "k2.k1", "k2.k2"},
	} {
		m := exampleModel(t, text, false)
		rows := newRows(4)
		terms, sum := testcheck.Get2(condition(t, m).Terms(t.Context(), rows, 4))(t)
		for _, term := range terms {
			floats.Add(sum, term.Mean)
		}
		testcheck.Near(t, "sum of the terms of "+text, sum, predict(t, m, rows).Mean, 1e-12, 0)
		if !slices.EqualFunc(terms, want, func(term TermPrediction, path string) bool { return term.Path == path }) {
			t.Errorf("%s: terms %+v, want %s", text, terms, want)
		}
	}
}

// wholeModels are exportModels without local experts, which have no derivatives and no relevance.
func wholeModels(t *testing.T) map[string]*Model {
	models := exportModels(t)
	maps.DeleteFunc(models, func(_ string, m *Model) bool { return m.State.Method != "" })
	return models
}

// TestMeanGradient compares with central differences of predicted means, in
// original units, for every kernel and kind of mean.
func TestMeanGradient(t *testing.T) {
	models := wholeModels(t)
	for i, text := range append([]string{"cosine(dims=0)*rbf + rbf", "cosine(ard)*matern52", "tent(dims=0) + rbf"}, exportKernels...) {
		models[text] = exampleModel(t, text, i%2 == 1)
	}
	const points = 7
	rows := newRows(points)
	for what, m := range models {
		p := condition(t, m)
		grad := testcheck.Get(p.MeanGradient(t.Context(), rows, points))(t)
		for i := range points {
			if grad[3*i+1] != 0 {
				t.Errorf("%s: derivative %v by the unused feature", what, grad[3*i+1])
			}
		}
		for _, c := range []int{0, 2} {
			scale := m.Scaling.XScale[c/2]
			step := 1e-4 * scale
			at := func(steps float64) []float64 {
				moved := slices.Clone(rows)
				for i := range points {
					moved[3*i+c] += steps * step
				}
				return predict(t, m, moved).Mean
			}
			up, up2, down, down2 := at(1), at(2), at(-1), at(-2)
			for i := range points {
				// Four points: periodic kernels have large third derivatives.
				want := (8*(up[i]-down[i]) - (up2[i] - down2[i])) / (12 * step)
				// Means near 100 have noise of 1e-13, over a step of 1e-4.
				if math.Abs(grad[3*i+c]-want) > 1e-6*(min(1, m.Scaling.YScale/scale)+math.Abs(want)) {
					t.Errorf("%s: row %d, feature %d: derivative %v, central difference %v", what, i, c, grad[3*i+c], want)
				}
			}
		}
	}
}

// TestGradientStd compares with the variance of a difference of the function's values
// at two rows, which comes from the joint covariance.
func TestGradientStd(t *testing.T) {
	models := wholeModels(t)
	for i, text := range []string{"cosine(dims=0)*rbf + rbf", "matern32*linear + periodic", "rq + poly(2)"} {
		models[text] = exampleModel(t, text, i%2 == 1)
	}
	ctx := t.Context()
	for what, m := range models {
		p := condition(t, m)
		row := newRows(1)
		got, err := p.GradientStd(ctx, row, 1)
		if strings.Contains(m.Kernel, "matern12") {
			if !errors.As(err, new(*kernel.CompileError)) {
				t.Errorf("%s: error %v, want a CompileError", what, err)
			}
			continue
		}
		testcheck.Do(t, err)
		if got[1] != 0 {
			t.Errorf("%s: deviation %v of the derivative by the unused feature", what, got[1])
		}
		for _, c := range []int{0, 2} {
			// The error is the square root of 1e-14 over a step of 2e-3, plus a truncation error
			// of step², or of step for kernels of finite smoothness.
			step := 1e-3 * m.Scaling.XScale[c/2]
			pair := slices.Concat(row, row)
			pair[c] -= step
			pair[3+c] += step
			j := testcheck.Get(p.Joint(ctx, pair, 2, JointOptions{}))(t)
			want := math.Sqrt(max(j.Cov[0]-2*j.Cov[1]+j.Cov[3], 0)) / (2 * step)
			if unit := m.Scaling.YScale / m.Scaling.XScale[c/2]; math.Abs(got[c]-want) > 3e-3*want+1e-4*unit {
				t.Errorf("%s, feature %d: deviation of the derivative %v, from a difference %v", what, c, got[c], want)
			}
		}
	}
}

// bayesianRegression returns the posterior of weights with the prior variances,
// noise and rows x of targets y (Rasmussen & Williams 2006, eq. 2.7 and 2.8).
func bayesianRegression(t *testing.T, x *mat.Dense, y []float64, prior []float64, noise float64) (mean *mat.VecDense, cov *mat.Dense) {
	t.Helper()
	var a, inv mat.Dense
	a.Mul(x.T(), x)
	a.Scale(1/noise, &a)
	for i, v := range prior {
		a.Set(i, i, a.At(i, i)+1/v)
	}
	testcheck.Do(t, inv.Inverse(&a))
	var b, w mat.VecDense
	b.MulVec(x.T(), mat.NewVecDense(len(y), y))
	b.ScaleVec(1/noise, &b)
	w.MulVec(&inv, &b)
	return &w, &inv
}

// centred returns the coordinates of x on columns, less the scaling's means.
func centred(m *Model, x []float64, columns []int) (out []float64) {
	for _, c := range columns {
		out = append(out, x[c]-m.Scaling.XMean[c])
	}
	return out
}

// combined returns the mean and the variance of wᵀφ.
func combined(w Weights, phi []float64) (mean, variance float64) {
	for a, u := range phi {
		mean += w.Mean[a] * u
		for b, v := range phi {
			variance += w.Cov[a*len(phi)+b] * u * v
		}
	}
	return mean, variance
}

// TestWeights checks that a Gaussian process with a linear kernel is Bayesian
// linear regression, and that its mean is ridge regression.
func TestWeights(t *testing.T) {
	const n = 40
	for text, variance := range map[string][]float64{
		"linear":         {0.8, 0.8},                       // signal variance
		"linear(ard)":    {1 / (0.8 * 0.8), 1 / .95 / .95}, // squared inverse lengthscales
		"linear(dims=2)": {0.8},
	} {
		m := exampleModel(t, text, false)
		m.Jitter = 0
		weigh(t, m)
		got, err := condition(t, m).Weights(t.Context())
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d terms, %v", text, len(got), err)
		}
		w, s, k := got[0], m.Scaling, len(variance)
		columns := []int{0, 1}[2-k:]
		x := mat.NewDense(n, k, nil)
		scaled := m.Scaling.Inputs(m.X)
		for i := range n {
			for q, c := range columns {
				x.Set(i, q, scaled[2*i+c])
			}
		}
		y := s.Targets(m.Y)
		mean, cov := bayesianRegression(t, x, y, variance, m.NoiseVariance)
		for i, c := range columns {
			unit := s.YScale / s.XScale[c]
			if math.Abs(w.Mean[i]-mean.AtVec(i)*unit) > 1e-11*unit || math.Abs(w.PriorVariance[i]-variance[i]*unit*unit) > 1e-14*unit*unit {
				t.Errorf("%s: weight %d is %v, prior variance %v; want %v, %v", text, i, w.Mean[i], w.PriorVariance[i], mean.AtVec(i)*unit, variance[i]*unit*unit)
			}
			if want := m.FeatureNames[m.Columns[c]]; w.Names[i] != want {
				t.Errorf("%s: weight %d is of %q, want %q", text, i, w.Names[i], want)
			}
			for j, e := range columns {
				want := cov.At(i, j) * unit * s.YScale / s.XScale[e]
				// T − TXᵀΣ⁻¹XT cancels to σ²/n of T.
				if math.Abs(w.Cov[i*k+j]-want) > 1e-12*unit*s.YScale/s.XScale[e] {
					t.Errorf("%s: covariance of weights %d, %d is %v, want %v", text, i, j, w.Cov[i*k+j], want)
				}
			}
		}
		if text == "linear" {
			ridge(t, x, y, m.NoiseVariance/0.8, mean)
		}
		// f = wᵀ(x − x̄), in original units.
		rows := newRows(5)
		p := predict(t, m, rows)
		for i := range 5 {
			f, variance := combined(w, centred(m, used(rows, i), columns))
			f += s.YMean
			if math.Abs(p.Mean[i]-f) > 1e-11*math.Abs(f) || math.Abs(p.StdLatent[i]-math.Sqrt(variance)) > 1e-9*s.YScale {
				t.Errorf("%s, row %d: %v ± %v by weights, %v ± %v by prediction", text, i, f, math.Sqrt(variance), p.Mean[i], p.StdLatent[i])
			}
		}
	}
}

// ridge checks that w minimizes ‖y − Xw‖² + λ‖w‖², by its normal equations as a
// least-squares problem with rows √λ·I below X.
func ridge(t *testing.T, x *mat.Dense, y []float64, lambda float64, w *mat.VecDense) {
	t.Helper()
	n, k := x.Dims()
	stacked, target := mat.NewDense(n+k, k, nil), mat.NewVecDense(n+k, nil)
	stacked.Slice(0, n, 0, k).(*mat.Dense).Copy(x)
	for i, v := range y {
		target.SetVec(i, v)
	}
	for i := range k {
		stacked.Set(n+i, i, math.Sqrt(lambda))
	}
	var want mat.VecDense
	testcheck.Do(t, want.SolveVec(stacked, target))
	testcheck.Near(t, "weights", w.RawVector().Data, want.RawVector().Data, 0, 1e-12)
}

// TestWeightsBeside checks that the posterior of a linear term's weights agrees with the
// prediction of the term, next to other terms and with a mean by least squares.
func TestWeightsBeside(t *testing.T) {
	m := exampleModel(t, "rbf + linear(dims=0) + linear(ard)*rbf + linear(ard)", false)
	universal := exampleModel(t, m.Kernel, true)
	universal.Mean.LeastSquares = true
	refitLeastSquares(t, universal)
	for what, m := range map[string]*Model{"zero mean": m, "least squares": universal} {
		p := condition(t, m)
		weights, err := p.Weights(t.Context())
		if err != nil || len(weights) != 2 || weights[0].Path != "k2" || weights[1].Path != "k4" {
			t.Fatalf("%s: %+v, %v", what, weights, err)
		}
		rows := newRows(5)
		terms, _ := testcheck.Get2(p.Terms(t.Context(), rows, 5))(t)
		s := m.Scaling
		for _, w := range weights {
			term, columns := terms[1], []int{0}
			if w.Path == "k4" {
				term, columns = terms[3], []int{0, 1}
			}
			for i := range 5 {
				f, variance := combined(w, centred(m, used(rows, i), columns))
				if math.Abs(f-term.Mean[i]) > 1e-10*s.YScale || math.Abs(math.Sqrt(variance)-term.Std[i]) > 1e-9*s.YScale {
					t.Errorf("%s, %s, row %d: %v ± %v by weights, %v ± %v by the term", what, w.Path, i, f, math.Sqrt(variance), term.Mean[i], term.Std[i])
				}
			}
		}
	}
}

// TestWeightsOfFeatures checks terms with other features than columns: that prior
// variances and posterior are Bayesian linear regression on the features, and that the
// weights make up the prediction of the term, in original units.
func TestWeightsOfFeatures(t *testing.T) {
	for text, want := range map[string]struct {
		names string
		phi   func(a, b float64) []float64 // of centred columns in original units
	}{
		"poly(2)":                    {"1 f0 f2 f0^2 f0*f2 f2^2", func(a, b float64) []float64 { return []float64{1, a, b, a * a, a * b, b * b} }},
		"poly(2, offset=0)":          {"f0^2 f0*f2 f2^2", func(a, b float64) []float64 { return []float64{a * a, a * b, b * b} }},
		"constant":                   {"1", func(a, b float64) []float64 { return []float64{1} }},
		"linear(dims=0)*linear(ard)": {"f0^2 f0*f2", func(a, b float64) []float64 { return []float64{a * a, a * b} }},
	} {
		m := exampleModel(t, text, false)
		for i, c := range m.Columns {
			m.FeatureNames[c] = []string{"f0", "f2"}[i]
		}
		m.Jitter = 0
		weigh(t, m)
		p := condition(t, m)
		got, err := p.Weights(t.Context())
		if err != nil || len(got) != 1 || strings.Join(got[0].Names, " ") != want.names {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
		w, s, n, k := got[0], m.Scaling, m.N(), len(got[0].Mean)
		x, prior := mat.NewDense(n, k, nil), make([]float64, k)
		for i := range n {
			x.SetRow(i, want.phi(m.X[2*i]-s.XMean[0], m.X[2*i+1]-s.XMean[1]))
		}
		copy(prior, w.PriorVariance)
		y := testcheck.Slice(n, func(i int) float64 { return m.Y[i] - s.YMean })
		mean, cov := bayesianRegression(t, x, y, prior, m.NoiseVariance*s.YScale*s.YScale)
		for i := range k {
			// Differences are in units of the weights' deviations, which the
			// equations lose digits of.
			if math.Abs(w.Mean[i]-mean.AtVec(i)) > 1e-8*math.Sqrt(prior[i]) || math.Abs(w.Cov[i*k+i]-cov.At(i, i)) > 1e-8*prior[i] {
				t.Errorf("%s, weight %s: %v, variance %v; by regression %v, %v", text, w.Names[i], w.Mean[i], w.Cov[i*k+i], mean.AtVec(i), cov.At(i, i))
			}
		}
		rows := newRows(5)
		pred := predict(t, m, rows)
		for i := range 5 {
			at := centred(m, used(rows, i), []int{0, 1})
			f, variance := combined(w, want.phi(at[0], at[1]))
			f += s.YMean
			if math.Abs(pred.Mean[i]-f) > 1e-9*math.Abs(f) || math.Abs(pred.StdLatent[i]-math.Sqrt(variance)) > 1e-7*s.YScale {
				t.Errorf("%s, row %d: %v ± %v by weights, %v ± %v by prediction", text, i, f, math.Sqrt(variance), pred.Mean[i], pred.StdLatent[i])
			}
		}
	}
	for text, want := range map[string]bool{"rbf": false, "rbf + constant": true, "cosine": true, "rbf*linear": false} {
		if got, err := HasWeights(exampleModel(t, text, false)); err != nil || got != want {
			t.Errorf("%s has weights: %v, %v", text, got, err)
		}
	}
}

package report

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// TestTerms compares a centred term and its deviation with direct linear algebra, under a constant mean by least squares.
func TestTerms(t *testing.T) {
	_, o := outcome(t, table(40), problem.Options{Mean: "constant", Kernel: "rbf(dims=0) + rbf(dims=1)", Settings: evaluations(3)})
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.columns = testcheck.Get(findColumns(t.Context(), s))(t)
	found := testcheck.Get((&terms{s}).find(t.Context()))(t)
	m, n := o.Model, 40
	p := m.Parameters()
	scaled := func(c int, v float64) float64 { return (v - m.Scaling.XMean[c]) / m.Scaling.XScale[c] }
	k := func(term string, c int, a, b float64) float64 {
		d := (scaled(c, a) - scaled(c, b)) / p[term+".lengthscale"]
		return p[term+".signal_variance"] * math.Exp(-d*d/2)
	}
	x := func(i, c int) float64 { return m.X[2*i+c] }
	sigma := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sigma.SetSym(i, j, k("k1", 0, x(i, 0), x(j, 0))+k("k2", 1, x(i, 1), x(j, 1)))
		}
		sigma.SetSym(i, i, sigma.At(i, i)+m.NoiseVariance)
	}
	var chol mat.Cholesky
	chol.Factorize(sigma)
	solve := func(v *mat.VecDense) *mat.VecDense {
		out := mat.NewVecDense(n, nil)
		testcheck.Do(t, chol.SolveVecTo(out, v))
		return out
	}
	one := mat.NewVecDense(n, nil)
	for i := range n {
		one.SetVec(i, 1)
	}
	ones := solve(one)
	term := found[0]
	if term.path != "k1" || term.along.First != 0 || !term.apart || len(found) != 3 && len(found) != 2 {
		t.Fatalf("%d terms, %+v", len(found), term)
	}
	for at, v := range term.at.Values {
		centred, own, with := mat.NewVecDense(n, nil), 0.0, 0.0
		for i := range n {
			sum := 0.0
			for j := range n {
				sum += k("k1", 0, x(i, 0), x(j, 0)) / float64(n)
			}
			centred.SetVec(i, k("k1", 0, v, x(i, 0))-sum)
			own, with = own+sum/float64(n), with+k("k1", 0, v, x(i, 0))/float64(n)
		}
		mean := mat.Dot(centred, mat.NewVecDense(n, m.Alpha)) * m.Scaling.YScale
		unsure := mat.Dot(centred, ones)
		variance := k("k1", 0, v, v) - 2*with + own - mat.Dot(centred, solve(centred)) + unsure*unsure/mat.Dot(one, ones)
		testcheck.Within(t, term.Mean[at], mean, 1e-9, "mean")
		testcheck.Within(t, term.StdLatent[at], math.Sqrt(max(variance, 0))*m.Scaling.YScale, 1e-6, "deviation")
	}
}

// TestFlatTerm checks that a term without effect says what the mean function has, and that a term like another one has no band.
func TestFlatTerm(t *testing.T) {
	d := table(60)
	for i := range d.N {
		d.Y[i] = d.X[2*i] + d.X[2*i+1]
	}
	fix := []problem.Assignment{{Name: "k1.signal_variance", Value: 1e-4}, {Name: "k2.signal_variance", Value: 1e-4}}
	_, o := outcome(t, d, problem.Options{Mean: "linear", Kernel: "rbf(dims=0) + rbf(dims=1)", Settings: evaluations(3), Fix: fix})
	_, html := written(t, subjectOf(t, o))
	testcheck.Words(t, html, ": no effect beyond the mean function", "The bands leave out the uncertainty of the mean function.")
	d = table(60)
	fix = []problem.Assignment{{Name: "k1.signal_variance", Value: 1}, {Name: "k2.signal_variance", Value: 1}, {Name: "k1.lengthscale", Value: 1}, {Name: "k2.lengthscale", Value: 1}}
	_, o = outcome(t, d, problem.Options{Mean: "zero", Kernel: "rbf(dims=0) + rbf(dims=0)", Settings: evaluations(2), Fix: fix})
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.columns = testcheck.Get(findColumns(t.Context(), s))(t)
	for _, term := range testcheck.Get((&terms{s}).find(t.Context()))(t) {
		if term.apart || term.size < 0.5 {
			t.Errorf("%s of size %v has a band", term.path, term.size)
		}
	}
}

// TestLastSeasons checks that a time among several columns shows its last seasons beside the envelope.
func TestLastSeasons(t *testing.T) {
	d := problem.Data{N: 300, D: 2, FeatureNames: []string{"hour", "b"}, TargetName: "y"}
	for i := range d.N {
		hour := 31.7 * float64(i)
		d.X = append(d.X, hour, math.Mod(7*float64(i), 5))
		d.Y = append(d.Y, math.Sin(math.Pi*hour/12)+0.1*math.Cos(float64(i*i)))
	}
	_, o := outcome(t, d, problem.Options{Kernel: "matern52", Mean: "constant + seasonal(24, 1, dims=hour)"})
	p, html := written(t, subjectOf(t, o))
	if got := pictures(p)["Effect of each column"]; got != 3 || !strings.Contains(html, stripsNote) {
		t.Errorf("%d effects", got)
	}
	testcheck.Words(t, html, "hour, the last seasons")
}

package gp

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
)

// TestTerms compares each term with an explicit inverse.
func TestTerms(t *testing.T) {
	const n, points = 50, 10
	m := newModel(t, n)
	rows := newRows(points)
	ref := newReference(t, m)
	terms, meanFunction := must.Get2(condition(t, m).Terms(context.Background(), rows, points))(t)
	if len(terms) != 2 || terms[0].Path != "k1" || terms[1].Path != "k2" || terms[0].Text != "rbf(ard)" || terms[1].Text != "matern32" {
		t.Fatalf("terms %+v", terms)
	}
	whole := predict(t, m, rows)
	for i := range points {
		x := used(rows, i)
		sum := meanFunction[i]
		for k, term := range terms {
			cross := mat.NewVecDense(n, nil)
			for j, xj := range ref.x {
				cross.SetVec(j, ref.terms[k](x, xj))
			}
			mean, variance := mat.Inner(cross, &ref.inv, ref.resid), ref.terms[k](x, x)-mat.Inner(cross, &ref.inv, cross)
			if math.Abs(term.Mean[i]-mean) > 1e-10*m.Scaling.YScale || math.Abs(term.Std[i]-math.Sqrt(variance)) > 1e-9*m.Scaling.YScale {
				t.Errorf("row %d, %s: %v ± %v, want %v ± %v", i, term.Path, term.Mean[i], term.Std[i], mean, math.Sqrt(variance))
			}
			sum += term.Mean[i]
		}
		if math.Abs(meanFunction[i]-ref.mean(x)) > 1e-13*math.Abs(ref.mean(x)) || math.Abs(sum-whole.Mean[i]) > 1e-12*math.Abs(sum) {
			t.Errorf("row %d: mean function %v, want %v; sum %v, want %v", i, meanFunction[i], ref.mean(x), sum, whole.Mean[i])
		}
	}
}

// TestTermsLeastSquares checks that with coefficients by least squares, the terms
// sum to the mean, and that a single term is as uncertain as the whole without the
// mean function. In the limit of a vague prior on β, this is the posterior of that
// term of k + b·Σ h h'.
func TestTermsLeastSquares(t *testing.T) {
	const n, points = 40, 5
	m := leastSquaresModel(t, n)
	s := m.Scaling
	rows := newRows(points)
	terms, meanFunction := must.Get2(condition(t, m).Terms(context.Background(), rows, points))(t)
	ref := newReference(t, m)
	const vague = 1e4
	plain := ref.k
	ref.k = func(a, b []float64) float64 {
		h := 1.0
		for c := range 2 {
			h += (a[c] - s.XMean[c]) / s.XScale[c] * (b[c] - s.XMean[c]) / s.XScale[c]
		}
		return plain(a, b) + vague*s.YScale*s.YScale*h
	}
	ref.mean = func([]float64) float64 { return s.YMean }
	ref.condition(t, m.Y)
	whole := predict(t, m, rows)
	for i := range points {
		x := used(rows, i)
		sum := meanFunction[i]
		for k, term := range terms {
			cross := mat.NewVecDense(n, nil)
			for j, xj := range ref.x {
				cross.SetVec(j, ref.terms[k](x, xj))
			}
			mean, std := mat.Inner(cross, &ref.inv, ref.resid), math.Sqrt(ref.terms[k](x, x)-mat.Inner(cross, &ref.inv, cross))
			// 1/b is compared with M, which is 10 or more.
			if math.Abs(term.Mean[i]-mean) > 1e-4*s.YScale || math.Abs(term.Std[i]-std) > 1e-4*s.YScale {
				t.Errorf("row %d, %s: %v ± %v, with a vague prior %v ± %v", i, term.Path, term.Mean[i], term.Std[i], mean, std)
			}
			sum += term.Mean[i]
		}
		if math.Abs(sum-whole.Mean[i]) > 1e-12*math.Abs(sum) {
			t.Errorf("row %d: terms add up to %v, want %v", i, sum, whole.Mean[i])
		}
	}
}

// TestTermPaths checks that the paths agree with the parameters' names.
func TestTermPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"rbf":                              {"k1"},
		"rbf*(matern12 + rbf)":             {"k1"},
		"rbf + matern12*rbf + linear":      {"k1", "k2", "k3"},
		"rbf + (matern12 + linear*rbf)":    {"k1", "k2.k1", "k2.k2"},
		"(rbf + constant) + (linear + rq)": {"k1.k1", "k1.k2", "k2.k1", "k2.k2"},
	} {
		m := exampleModel(t, text, false)
		terms, _ := must.Get2(condition(t, m).Terms(context.Background(), newRows(1), 1))(t)
		if len(terms) != len(want) {
			t.Fatalf("%s: %d terms, want %d", text, len(terms), len(want))
		}
		for i, term := range terms {
			if term.Path != want[i] {
				t.Errorf("%s: term %d is %s, want %s", text, i, term.Path, want[i])
			}
		}
	}
}

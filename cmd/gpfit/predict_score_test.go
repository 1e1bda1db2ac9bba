package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/columns"
	"gpfit/internal/must"
)

// TestScoreWithDraws compares the scores of predictions with draws of the parameters, and
// those of held-out rows at the optimum, with counts of the rows inside the printed intervals
// and with sums over the densities of the draws.
func TestScoreWithDraws(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	call := func(into any, args ...string) {
		t.Helper()
		decodeLine(t, into, append(args, "--quiet", "--device", "cpu", "--json")...)
	}
	// So few rows leave the parameters uncertain.
	const n, trained = 300, 9
	rng := rand.New(rand.NewPCG(7, 8))
	table, x, y := "x,y,held\n", make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = 10*rng.Float64(), rng.NormFloat64()
		y[i] = math.Sin(x[i]) + 0.5*y[i]
		held := 1
		if i < trained {
			held = 0
		}
		table += fmt.Sprintf("%v,%v,%d\n", x[i], y[i], held)
	}
	data := write(t, dir, "t.csv", table)
	var report summary.Report
	call(&report, "fit", data, "--features", "x", "--target", "y", "--split-mask", data+":held", "--kernel", "rbf", "--posterior", "laplace", "--posterior-draws", "30", "--out", model) // 4·30 draws

	type prediction struct {
		Mean, Std, Lower95, Upper95, Lower50, Upper50 []float64
		Scores                                        []columns.Score
	}
	inside := func(lower, upper []float64, from int) float64 {
		count := 0
		for i := from; i < n; i++ {
			if lower[i] <= y[i] && y[i] <= upper[i] {
				count++
			}
		}
		return float64(count) / float64(n-from)
	}
	var mixed, optimum prediction
	call(&mixed, "predict", model, data, "--score", "--interval", "0.95,0.5", "--posterior-draws", "120")
	s := mixed.Scores[0]
	if want := inside(mixed.Lower95, mixed.Upper95, 0); s.Coverage["95"] != want {
		t.Errorf("coverage %v, inside the printed interval %v", s.Coverage["95"], want)
	}
	if want := inside(mixed.Lower50, mixed.Upper50, 0); s.Coverage["50"] != want {
		t.Errorf("coverage of 50 %%: %v, inside the printed interval %v", s.Coverage["50"], want)
	}
	if want := mixtureNLPD(t, model, x, y); math.Abs(*s.NLPD-want) > 1e-12 {
		t.Errorf("NLPD %v, of the mixture %v", *s.NLPD, want)
	}
	normal := 0.0
	for i := range y {
		if math.Abs(y[i]-mixed.Mean[i]) <= 1.959963984540054*mixed.Std[i] {
			normal++
		}
	}
	if normal/n == s.Coverage["95"] {
		t.Error("a normal distribution with the same moments covers as many rows: the test cannot tell")
	}

	// Held-out scores belong to the optimum, as predictions without draws do, to the bit.
	call(&optimum, "predict", model, data, "--posterior-draws", "0")
	if want := inside(optimum.Lower95, optimum.Upper95, trained); report.Test.Coverage95 != want || report.Test.N != n-trained {
		t.Errorf("coverage %v of %d held-out rows, inside the printed interval %v", report.Test.Coverage95, report.Test.N, want)
	}
	lines := strings.SplitAfter(table, "\n")
	rest := write(t, dir, "rest.csv", lines[0]+strings.Join(lines[1+trained:], ""))
	call(&optimum, "predict", model, rest, "--posterior-draws", "0", "--score")
	if s := optimum.Scores[0]; *s.NLPD != float64(report.Test.NLPD) || s.RMSE != report.Test.RMSE {
		t.Errorf("NLPD %v and RMSE %v, in the report of the fit %v and %v", *s.NLPD, s.RMSE, float64(report.Test.NLPD), report.Test.RMSE)
	}
}

// mixtureNLPD returns −Σ log(mean density over the draws)/n, from the posterior of each draw
// alone.
func mixtureNLPD(t *testing.T, path string, x, y []float64) float64 {
	t.Helper()
	m := must.Get(gp.Load(path))(t)
	b := must.Get(cpu.New(device.Options{}))(t)
	defer b.Close()
	density, all := make([]float64, len(y)), *m.Draws
	for k := range all.Theta {
		one := all
		one.Theta, one.Noise = all.Theta[k:k+1], all.Noise[k:k+1]
		if all.Coefficients != nil {
			one.Coefficients = all.Coefficients[k : k+1]
		}
		m.Draws = &one
		mixture := must.Get(gp.NewMixture(context.Background(), m, b, 0))(t)
		p := must.Get(mixture.Predict(context.Background(), x, len(y), gp.RowNoise{}))(t)
		for i := range y {
			z := (y[i] - p[0].Mean[i]) / p[0].Std[i]
			density[i] += math.Exp(-z*z/2) / (p[0].Std[i] * math.Sqrt(2*math.Pi)) / float64(len(all.Theta))
		}
		mixture.Close()
	}
	nlpd := 0.0
	for _, p := range density {
		nlpd -= math.Log(p) / float64(len(y))
	}
	return nlpd
}

package fit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// TestCollinearMean fits means whose columns are linear combinations of others: what is left has full rank by a QR
// factorization, spans what all functions span, and predicts as with pseudo-inverses of all. A warning names what is left out.
func TestCollinearMean(t *testing.T) {
	const n, columns = 40, 6
	rng := rand.New(rand.NewPCG(5, 5))
	d := problem.Data{N: n, D: columns, FeatureNames: []string{"a", "b", "sum", "red", "green", "blue"}}
	for i := range n {
		a, b, hot := rng.NormFloat64(), rng.NormFloat64(), [3]float64{}
		hot[i%3] = 1
		d.X = append(d.X, a, b, a+2*b-1, hot[0], hot[1], hot[2])
		d.Y = append(d.Y, a-b+hot[1]+0.1*rng.NormFloat64())
	}
	for text, want := range map[string]struct {
		rank int
		says string
	}{
		"linear":                        {5, "the mean leaves out mean_linear[red], mean_linear[a]"},
		"poly(2)":                       {8, "the mean leaves out mean_power[red,2], mean_power[blue,2], mean_power[green,2], mean_linear[a], mean_linear[red]"},
		"poly(3, dims=[0, 3]) + linear": {7, "the mean leaves out mean_power[red,3], mean_power[red,2], mean_linear[a], mean_linear[red]"},
		"linear(dims=[0, 1, 2]) + bumps(3, dims=0)": {6, "the mean leaves out mean_linear[a]"},
	} {
		job := testcheck.Get(Prepare(d, problem.Options{Kernel: "rbf", Mean: text}, problem.Events{}))(t)
		basis := job.Model.Basis
		h := mat.NewDense(len(basis), n, basis.Evaluate(job.Sample.Points)).T()
		var qr mat.QR
		qr.Factorize(h)
		if cond := qr.Cond(); len(basis) != want.rank || !(cond < 1e4) {
			t.Errorf("%s: %s: %v: %d functions %v with condition %g, want %d", text, job.MeanText(), job.Warnings(), len(basis), basis.Names(), cond, want.rank)
		}
		if w := strings.Join(job.Warnings(), "; "); !strings.Contains(w, want.says) {
			t.Errorf("%s: warnings %s", text, w)
		}
		again := testcheck.Get(Prepare(d, problem.Options{Kernel: "rbf", Mean: job.MeanText()}, problem.Events{}))(t)
		if !slices.Equal(again.Model.Basis.Names(), basis.Names()) {
			t.Errorf("%s: %s has the functions %v, want %v", text, job.MeanText(), again.Model.Basis.Names(), basis.Names())
		}
		if strings.Contains(text, "bumps") {
			continue
		}
		all := mat.NewDense(n, 3*columns+1, nil) // the powers that the text has, and the constant
		for i := range n {
			for c, x := range d.X[i*columns : (i+1)*columns] {
				all.Set(i, 3*c, x)
				if text == "poly(2)" || text != "linear" && (c == 0 || c == 3) {
					all.Set(i, 3*c+1, x*x)
				}
				if strings.HasPrefix(text, "poly(3") && (c == 0 || c == 3) {
					all.Set(i, 3*c+2, x*x*x)
				}
			}
			all.Set(i, 3*columns, 1)
		}
		var svd, both mat.SVD
		svd.Factorize(all, mat.SVDNone)
		joint := mat.NewDense(n, 3*columns+1+len(basis), nil)
		joint.Augment(all, h)
		both.Factorize(joint, mat.SVDNone)
		if svd.Rank(1e-10) != want.rank || both.Rank(1e-10) != want.rank {
			t.Errorf("%s: ranks %d and %d, want %d", text, svd.Rank(1e-10), both.Rank(1e-10), want.rank)
		}
	}
}

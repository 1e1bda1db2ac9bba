package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/score"
	"gpfit/internal/testcheck"
)

// TestFoldError compares the standard error over folds with numbers worked out by hand: the
// folds' mean differences are 1, 2 and 6, so that their variance is 7.
func TestFoldError(t *testing.T) {
	p := pairing{fold: []int{0, 0, 1, 1, 2, 2}, folds: 3}
	d := p.difference(losses{values: []float64{2, 2, 3, 3, 9, 5}}, losses{values: []float64{1, 1, 0, 2, 1, 1}})
	near(t, "difference", &d.Value, 3)
	near(t, "standard error", d.StdError, math.Sqrt((1/3.0+1/2.0)*7))
	const quantile = 4.302652729696142 // of Student's t with 2 degrees of freedom, at 0.975
	testcheck.Within(t, (*d.Upper95-d.Value) / *d.StdError, quantile, 1e-9, "width of the interval in standard errors")
	if d.Better != 0 || d.Worse != 3 || d.clear() {
		t.Errorf("%+v", d)
	}
	// After an interruption the training rows are still the training rows of three folds.
	p.fold = []int{0, 0, 1, 1}
	d = p.difference(losses{values: []float64{2, 2, 3, 3}}, losses{values: []float64{1, 1, 0, 2}})
	near(t, "standard error of two folds", d.StdError, math.Sqrt((1/2.0+1/2.0)*0.5))
}

// TestGroupError compares with the sums of the groups: −2 and 2 around the mean 2.
func TestGroupError(t *testing.T) {
	p := pairing{group: []string{"a", "b", "a", "b"}}
	d := p.difference(losses{values: []float64{1, 3, 1, 3}}, losses{values: []float64{0, 0, 0, 0}})
	near(t, "standard error", d.StdError, math.Sqrt(2*(4+4))/4)
}

// TestRootError compares the standard error of a difference of RMSEs with the jackknife's.
func TestRootError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 400
	a, b := make([]float64, n), make([]float64, n)
	for i := range n {
		x, y := r.NormFloat64(), r.NormFloat64()
		a[i], b[i] = (x+0.5*y)*(x+0.5*y), 0.8*x*x
	}
	p := pairing{}
	d := p.difference(losses{values: a, root: true}, losses{values: b, root: true})
	near(t, "difference", &d.Value, math.Sqrt(score.Mean(a))-math.Sqrt(score.Mean(b)))
	var left []float64
	for i := range n {
		without := func(v []float64) float64 { return math.Sqrt((score.Mean(v)*n - v[i]) / (n - 1)) }
		left = append(left, without(a)-without(b))
	}
	jackknife := math.Sqrt(score.Variance(left) * (n - 1) * (n - 1) / n)
	testcheck.Within(t, *d.StdError, jackknife, 0.01*jackknife, "standard error, and the jackknife's")
	if p.difference(losses{values: a, root: true}, losses{values: a, root: true}).Value != 0 {
		t.Error("a method differs from itself")
	}
}

// TestIntervals checks on simulated hold-outs that the 95 % interval has the true difference
// of two RMSEs in about 95 %, with independent rows, with groups and with neighbors that are
// correlated; and that an interval for independent rows misses the last two.
func TestIntervals(t *testing.T) {
	draws, n := 1000, 300
	if testing.Short() {
		draws = 400
	}
	r := rand.New(rand.NewPCG(7, 8))
	groups := testcheck.Slice(n, func(i int) string { return string(rune('A' + i/10)) })
	for _, c := range []struct {
		name    string
		p       pairing
		low     float64
		outside bool
	}{
		{"rows", pairing{}, 0.93, false},
		{"groups", pairing{group: groups}, 0.91, false},
		{"blocks", pairing{blocks: true}, 0.91, false},
		{"groups as rows", pairing{}, 0, true},
		{"blocks as rows", pairing{}, 0, true},
	} {
		inside := 0
		for range draws {
			a, b := make([]float64, n), make([]float64, n)
			for i := range n {
				share := 0.0
				switch {
				case c.name[0] == 'g' && i%10 > 0:
					share = 1
				case c.name[0] == 'b' && i > 0:
					share = 0.8
				}
				x, y := r.NormFloat64(), r.NormFloat64()
				if i > 0 {
					x, y = share*a[i-1]+math.Sqrt(1-share*share)*x, share*b[i-1]+math.Sqrt(1-share*share)*y
				}
				a[i], b[i] = x, y
			}
			for i := range n {
				a[i], b[i] = 4*a[i]*a[i], b[i]*b[i] // the RMSEs are 2 and 1
			}
			d := c.p.difference(losses{values: a, root: true}, losses{values: b, root: true})
			if *d.Lower95 <= 1 && 1 <= *d.Upper95 {
				inside++
			}
		}
		share := float64(inside) / float64(draws)
		t.Logf("%s: %.3f", c.name, share)
		if share > 0.975 || share < c.low || c.outside && share > 0.85 {
			t.Errorf("%s: the 95 %% interval has the true difference in %.1f %%", c.name, 100*share)
		}
	}
}

// TestUndefinedError checks that there is no standard error of one unit, and no difference of
// scores that are not finite.
func TestUndefinedError(t *testing.T) {
	one := losses{values: []float64{1}}
	if d := (pairing{}).difference(one, losses{values: []float64{2}}); d.StdError != nil || d.Value != -1 {
		t.Errorf("one row: %+v", d)
	}
	if d := (pairing{group: []string{"a"}}).difference(one, one); d.StdError != nil {
		t.Errorf("one group: %+v", d)
	}
	if d := (pairing{}).difference(losses{values: []float64{math.Inf(1)}}, one); d != nil {
		t.Errorf("an infinite score: %+v", d)
	}
}

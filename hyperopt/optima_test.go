package hyperopt

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/hyperopt/descent"
	"gpfit/internal/must"
)

// TestCoverage checks counts and the closed forms for small numbers.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		optima         []Optimum
		want           Coverage
		share, number  float64
		shareOK, numOK bool
	}{
		{nil, Coverage{}, 0, 0, false, false},
		{[]Optimum{{Starts: 1}}, Coverage{Starts: 1, Best: 1}, 0, 0, false, false},
		{[]Optimum{{Starts: 6, Drawn: 5}}, Coverage{6, 6, 0, 5, 1}, 0.1, 2, true, true},
		{[]Optimum{{Starts: 3, Drawn: 2}, {Starts: 2, Drawn: 2}, {Starts: 9, Drawn: 9, Dropped: true}}, Coverage{5, 3, 9, 4, 2}, 0.5, 0, true, false},
		{[]Optimum{{Starts: 1}, {Starts: 4, Drawn: 4}}, Coverage{5, 1, 0, 4, 1}, 1. / 6, 3, true, true},
		{[]Optimum{{Starts: 2, Drawn: 1}, {Starts: 1, Drawn: 1}}, Coverage{3, 2, 0, 2, 2}, 0, 0, false, false},
	} {
		got := NewCoverage(c.optima)
		share, ok := got.Unseen()
		number, known := got.Optima()
		if got != c.want || ok != c.shareOK || known != c.numOK || math.Abs(share-c.share) > 1e-15 || math.Abs(number-c.number) > 1e-12 {
			t.Errorf("%+v: %+v, %v %v, %v %v", c.optima, got, share, ok, number, known)
		}
	}
}

// TestLeastRestarts checks that the number of restarts that is said to give an estimate does,
// and one fewer does not.
func TestLeastRestarts(t *testing.T) {
	suggested := [][]float64{{-1, -3, 0.25}, {1, -2.5, 0.25}, {2, -1, 0.25}, {-3, 3, 0.25}}
	run := func(restarts int) (Coverage, *Result) {
		r := must.Get(Tune(t.Context(), &table{n: 300, starts: suggested}, Settings{Restarts: restarts, Coarse: CoarseOff, Seed: 5}, nil))(t)
		return NewCoverage(r.Optima), r
	}
	first, r := run(2)
	if first.Drawn != 0 || r.Suggested != len(suggested) || first.LeastRestarts(r.Suggested) != len(suggested)+3 {
		t.Fatalf("%+v, %d suggested, %d restarts", first, r.Suggested, first.LeastRestarts(r.Suggested))
	}
	// The first random starts may find two optima, which asks for one more.
	few, _ := run(first.LeastRestarts(r.Suggested) - 1)
	need := few.LeastRestarts(r.Suggested)
	for restarts, want := range map[int]bool{need - 1: false, need: true} {
		if c, _ := run(restarts); c.Drawn != restarts-len(suggested) {
			t.Errorf("%d restarts: %+v", restarts, c)
		} else if _, ok := c.Unseen(); ok != want {
			t.Errorf("%d restarts: %+v, estimate %v, want %v", restarts, c, ok, want)
		}
	}
}

// TestUnseenShare checks the estimate by its definition: if the number of optima is
// unknown (all of 1 … 60 alike, an approximation of the improper prior) and their shares
// are uniform on the simplex, the average unseen share among draws with the same n and w
// is the estimate.
func TestUnseenShare(t *testing.T) {
	const n, trials = 10, 300_000
	rng := rand.New(rand.NewPCG(2, 3))
	sums, counts := [n + 1]float64{}, [n + 1]int{}
	for range trials {
		shares := make([]float64, 1+rng.IntN(60))
		total := 0.0
		for i := range shares {
			shares[i] = rng.ExpFloat64()
			total += shares[i]
		}
		seen := make([]bool, len(shares))
		for range n {
			u := rng.Float64() * total
			i := 0
			for ; i < len(shares)-1 && u > shares[i]; i++ {
				u -= shares[i]
			}
			seen[i] = true
		}
		w, unseen := 0, 0.0
		for i, s := range seen {
			if s {
				w++
			} else {
				unseen += shares[i] / total
			}
		}
		sums[w] += unseen
		counts[w]++
	}
	for w := 1; w <= 4; w++ { // beyond, the cut at 60 optima matters
		want, ok := Coverage{Drawn: n, Distinct: w}.Unseen()
		got := sums[w] / float64(counts[w])
		if !ok || counts[w] < 1000 || math.Abs(got-want) > 0.03*want+0.002 {
			t.Errorf("%d optima of %d starts: unseen share %.4f in %d trials, estimate %.4f", w, n, got, counts[w], want)
		}
	}
}

// TestSpent checks that joining adds what starts took.
func TestSpent(t *testing.T) {
	a := candidate{starts: 1, drawn: 1, spent: descent.Evaluations{Value: 3, Gradient: 2}}
	a.join(candidate{starts: 2, spent: descent.Evaluations{Value: 5, Gradient: 1, Infeasible: 1}})
	if a.starts != 3 || a.drawn != 1 || a.spent != (descent.Evaluations{Value: 8, Gradient: 3, Infeasible: 1}) {
		t.Errorf("%+v", a)
	}
}

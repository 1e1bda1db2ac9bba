package queue

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// timed is a job that takes some seconds on the cores and on the cards, and a share of each.
func timed(onCores, onCards, shareCores, shareCards float64) Load {
	return Load{Rows: 1000, Planned: [2]float64{onCores, onCards}, Share: [2]float64{shareCores, shareCards}}
}

// TestLeaves checks which jobs a side leaves to the other side near the end.
func TestLeaves(t *testing.T) {
	slow := timed(10, 1, 0.25, 1) // on one of four cores, or on a card with one lane
	for name, c := range map[string]struct {
		on     Side
		job    Load
		full   float64
		others int // jobs like slow that wait
		want   bool
	}{
		"a card is faster":                    {Cards, slow, 0, 0, false},
		"the last job, an idle card":          {Cores, slow, 0, 0, true},
		"the last job, a card in use":         {Cores, slow, 8.5, 0, true},
		"the last job, a card long in use":    {Cores, slow, 9.5, 0, false},
		"few others":                          {Cores, slow, 0.5, 8, true},
		"many others":                         {Cores, slow, 0.5, 9, false},
		"never on the other side":             {Cores, timed(1000, Never, 1, 1), 0, 0, false},
		"never on this side":                  {Cards, timed(1000, Never, 1, 1), 0, 0, true},
		"never on any side":                   {Cores, timed(Never, Never, 1, 1), 0, 0, false},
		"cores are faster than the card":      {Cards, timed(1, 10, 0.25, 1), 2, 20, true},
		"cores with a long queue":             {Cards, timed(1, 10, 0.25, 1), 2, 40, false},
		"the same time, and no time for both": {Cores, timed(2, 2, 0.25, 1), 0, 0, false},
	} {
		others := slices.Repeat([]Load{slow}, c.others)
		if c.on == Cards {
			others = slices.Repeat([]Load{timed(1, 10, 0.25, 1)}, c.others)
		}
		var r Rates
		if got := r.Leaves(c.on, c.job, c.full, slices.Values(others)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRates checks that finished jobs of the nearest size correct the plans.
func TestRates(t *testing.T) {
	var r Rates
	small, large := Load{Rows: 100, Planned: [2]float64{1, 1}}, Load{Rows: 1000, Planned: [2]float64{100, 2}}
	check := func(when string, want ...float64) {
		t.Helper()
		got := []float64{r.Seconds(Cores, small), r.Seconds(Cards, small), r.Seconds(Cores, large), r.Seconds(Cards, large)}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9*want[i] {
				t.Errorf("%s: %v, want %v", when, got, want)
				return
			}
		}
	}
	check("no job is done", 1, 1, 100, 2)
	r.Add(Cores, small, 3) // the jobs take thrice as many evaluations: on the card, too
	check("a small job on a core", 3, 3, 300, 6)
	r.Add(Cards, large, 1)
	check("a large job on a card", 3, 0.5, 300, 1)
	r.Add(Cards, small, 4)
	check("a small job on a card", 3, 4, 300, 1)
	for range 300 { // something else slows the cores
		r.Add(Cores, small, 7)
	}
	check("the last jobs decide", 7, 4, 700, 1)
	r.Add(Cores, small, 0)
	check("a job without a time", 7, 4, 700, 1)
	large.Share[Cores] = 0.5
	for ago, want := range map[time.Duration]float64{0: 350, 500 * time.Second: 100, 650 * time.Second: 35} {
		if got := r.Left(Cores, large, ago); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v after its beginning %v seconds of a large job are left, want %v", ago, got, want)
		}
	}
}

// alone returns when the queue ends on one side alone.
func alone(jobs []Load, s Side) float64 {
	only := slices.Clone(jobs)
	for i := range only {
		only[i].Planned[s.Other()] = Never
	}
	_, ends := Simulate(only, &Rates{})
	return ends
}

// TestMakespan checks that a queue of random jobs ends no later than on the better side alone, up to one job, that each job runs
// where it can, and that both sides together are faster for many equal jobs.
func TestMakespan(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	gained, queues := 0, 400
	if testcheck.Long() {
		queues = 20000
	}
	for range queues {
		count, threads, lanes := 1+rng.IntN(80), float64(1+rng.IntN(16)), float64(1+rng.IntN(16))
		faster := math.Exp(2 * rng.NormFloat64()) // the card, at one job
		jobs, longest := make([]Load, count), [2]float64{}
		for i := range jobs {
			size := math.Exp(rng.NormFloat64())
			jobs[i] = timed(size, size/faster*math.Exp(0.3*rng.NormFloat64()), 1/threads, 1/lanes)
			for s := range longest {
				longest[s] = max(longest[s], jobs[i].Planned[s])
			}
		}
		slices.SortFunc(jobs, func(a, b Load) int { return cmp.Compare(b.Planned[Cores], a.Planned[Cores]) })
		_, ends := Simulate(jobs, &Rates{})
		onCores, onCards := alone(jobs, Cores), alone(jobs, Cards)
		better, one := onCores, longest[Cores]
		if onCards < onCores {
			better, one = onCards, longest[Cards]
		}
		if ends > better+one {
			t.Errorf("%d jobs on %v cores and %v lanes: %v, on the cores alone %v, on the cards alone %v", count, threads, lanes, ends, onCores, onCards)
		}
		if ends < 0.95*better {
			gained++
		}
	}
	if gained < queues/3 {
		t.Errorf("%d of %d queues gain", gained, queues)
	}
	// Four cores do 0.4 jobs a second and the card 1.
	equal := slices.Repeat([]Load{timed(10, 1, 0.25, 1)}, 140)
	ran, ends := Simulate(equal, &Rates{})
	onCores := 0
	for _, s := range ran {
		if s == Cores {
			onCores++
		}
	}
	if ends > 105 || onCores < 36 || onCores > 44 {
		t.Errorf("140 equal jobs end at %v, %d on cores", ends, onCores)
	}
	// The largest jobs go to the card.
	ran, _ = Simulate([]Load{timed(100, 1, 1, 1), timed(100, 1, 1, 1), timed(1, 1, 1, 1), timed(1, 1, 1, 1)}, &Rates{})
	if want := []Side{Cards, Cards, Cores, Cores}; !slices.Equal(ran, want) {
		t.Errorf("sides %v, want %v", ran, want)
	}
}

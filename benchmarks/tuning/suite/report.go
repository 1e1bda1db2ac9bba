package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// tally sums the runs of a label with one number of restarts.
type tally struct {
	label          string
	restarts       int
	runs, found    int
	held, heldGood int
	cost           float64
}

// report compares runs with the best known. A run that went below the best known
// improves it for all.
func report(args []string) error {
	if len(args) < 2 {
		return errors.New("report takes the file of best and files of runs")
	}
	known, err := read(args[0])
	if err != nil {
		return err
	}
	var runs []result
	for _, path := range args[1:] {
		more, err := read(path)
		if err != nil {
			return err
		}
		runs = append(runs, more...)
	}
	best := map[string]float64{}
	for _, r := range slices.Concat(known, runs) {
		if f, ok := best[r.Pair]; !ok || r.NLML < f {
			best[r.Pair] = r.NLML
		}
	}
	held := map[string]bool{}
	for _, p := range pairs() {
		held[p.name()] = p.held
	}
	var tallies []*tally
	for _, r := range runs {
		i := slices.IndexFunc(tallies, func(t *tally) bool { return t.label == r.Label && t.restarts == r.Restarts })
		if i < 0 {
			i = len(tallies)
			tallies = append(tallies, &tally{label: r.Label, restarts: r.Restarts})
		}
		tallies[i].count(r, best[r.Pair], held[r.Pair])
	}
	fmt.Printf("%-12s %8s %22s %22s %14s\n", "version", "restarts", "within 0.5 nats", "of the held pairs", "mean cost")
	for _, t := range tallies {
		fmt.Printf("%-12s %8d %8d of %3d, %4.1f %% %8d of %3d, %4.1f %% %14.1f\n", t.label, t.restarts,
			t.found, t.runs, share(t.found, t.runs), t.heldGood, t.held, share(t.heldGood, t.held), t.cost/float64(t.runs))
	}
	fmt.Println()
	for _, p := range pairs() {
		if f, ok := best[p.name()]; ok {
			fmt.Printf("%-34s best %12.3f", p.name(), f)
			for _, t := range tallies {
				worst, sum, n := 0.0, 0.0, 0
				for _, r := range runs {
					if r.Pair == p.name() && r.Label == t.label && r.Restarts == t.restarts {
						worst, sum, n = math.Max(worst, r.NLML-f), sum+r.Cost, n+1
					}
				}
				fmt.Printf("   %s/%d: +%.2f, cost %.0f", t.label, t.restarts, worst, sum/float64(max(n, 1)))
			}
			fmt.Println()
		}
	}
	return nil
}

func (t *tally) count(r result, best float64, held bool) {
	good := 0
	if r.NLML <= best+withinNats {
		good = 1
	}
	t.runs, t.found, t.cost = t.runs+1, t.found+good, t.cost+r.Cost
	if held {
		t.held, t.heldGood = t.held+1, t.heldGood+good
	}
}

func share(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }

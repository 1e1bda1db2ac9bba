package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// version is a label with a number of restarts.
type version struct {
	label    string
	restarts int
}

func (v version) String() string { return fmt.Sprintf("%s/%d", v.label, v.restarts) }

// groups are the pairs that the report counts together.
var groups = []struct {
	name string
	has  func(p pair) bool
}{
	{"all", func(pair) bool { return true }},
	{"sums", func(p pair) bool { return strings.Contains(p.kernel, " + ") }},
	{"products", func(p pair) bool { return strings.Contains(p.kernel, "*") }},
	{"periods", func(p pair) bool { return strings.Contains(p.kernel, "periodic") }},
	{"up to 220 rows", func(p pair) bool { return p.rows <= 220 }},
	{"held", func(p pair) bool { return p.held }},
	{"others", func(p pair) bool { return !p.held }},
}

// outcome is a run with its pair and how far it ended above the best known, in nats.
type outcome struct {
	result
	pair   pair
	excess float64
}

func costs(o outcome) float64    { return o.Cost }
func hessians(o outcome) float64 { return o.Hessians }

func (o outcome) found() bool { return o.excess <= withinNats }

// report compares runs with the best known. A run that went below the best known
// improves it for all.
func report(args []string) error {
	if len(args) < 2 {
		return errors.New("report takes the file of best and files of runs")
	}
	best, tables := map[string]float64{}, uint64(0)
	var runs []result
	for i, path := range args {
		more, err := read(path)
		if err != nil {
			return err
		}
		for _, r := range more {
			if len(best) == 0 {
				tables = r.Tables
			}
			if r.Tables != tables {
				return fmt.Errorf("%s: the files are of different tables", path)
			}
			if f, ok := best[r.Pair]; !ok || r.NLML < f {
				best[r.Pair] = r.NLML
			}
		}
		if i > 0 {
			runs = append(runs, more...)
		}
	}
	var versions []version
	of := map[version][]outcome{}
	for _, r := range runs {
		i := slices.IndexFunc(pairs(), func(p pair) bool { return p.name() == r.Pair })
		if i < 0 {
			return fmt.Errorf("%s is no pair of the suite", r.Pair)
		}
		v := version{r.Label, r.Restarts}
		if of[v] == nil {
			versions = append(versions, v)
		}
		of[v] = append(of[v], outcome{r, pairs()[i], r.NLML - best[r.Pair]})
	}
	for _, v := range versions {
		printShares(v, of[v])
		printNesting(of[v])
		printClaims(of[v])
	}
	for _, p := range pairs() {
		if f, ok := best[p.name()]; ok {
			fmt.Printf("%-42s best %12.3f", p.name(), f)
			for _, v := range versions {
				of := among(of[v], func(o outcome) bool { return o.pair.name() == p.name() })
				fmt.Printf("   %s: +%.2f, cost %.0f", v, worst(of), mean(of, costs))
			}
			fmt.Println()
		}
	}
	return nil
}

// printShares prints for each group how many runs found the best known, and their costs.
func printShares(v version, of []outcome) {
	fmt.Printf("%-48s %22s %10s %12s\n", v, "within 0.5 nats", "mean cost", "in Hessians")
	for _, g := range groups {
		in := among(of, func(o outcome) bool { return g.has(o.pair) })
		fmt.Printf("  %-46s %s %10.1f %12.1f\n", g.name, share(in), mean(in, costs), mean(in, hessians))
	}
}

// printNesting counts the sums that ended above one of their own terms: a sum at its best is
// never worse, because the other terms can vanish.
func printNesting(of []outcome) {
	sums := among(of, func(o outcome) bool { return o.Term != nil })
	above := among(sums, func(o outcome) bool { return o.NLML > *o.Term+withinNats })
	most := 0.0
	for _, o := range above {
		most = max(most, o.NLML-*o.Term)
	}
	fmt.Printf("  sums above one of their terms: %d of %d, by %.2f nats at most\n", len(above), len(sums), most)
}

// printClaims prints for each thing that reports said how many of the runs had found the best
// known, and the misses that the stated chances expect, with the real ones.
func printClaims(of []outcome) {
	said := map[string][]outcome{}
	expected, misses := 0.0, 0
	for _, o := range of {
		claims, chance := o.claims()
		for _, c := range claims {
			said[c] = append(said[c], o)
		}
		if chance != nil {
			expected += *chance
			if !o.found() {
				misses++
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(said)) {
		fmt.Printf("  said: %-40s %s\n", c, share(said[c]))
	}
	if expected > 0 {
		fmt.Printf("  misses by these chances: %.1f expected, %d seen\n", expected, misses)
	}
	fmt.Println()
}

// claims returns what a report says of its optimum, and the chance of a lower one that it states.
func (r result) claims() (out []string, chance *float64) {
	var search *struct {
		Kind   string   `json:"kind"`
		Chance *float64 `json:"chance"`
	}
	switch err := json.Unmarshal(r.Search, &search); {
	case err != nil || search == nil:
		out = append(out, "nothing")
	case search.Kind == "": // an earlier version
		out = append(out, "an estimate for random starts, or none")
	case search.Chance == nil:
		out = append(out, search.Kind+", no chance")
	default:
		chance = search.Chance
		out = append(out, fmt.Sprintf("%s, %2.0f %% miss a lower one", search.Kind, 100**chance))
	}
	if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "do not need th") }) {
		out = append(out, "a term is not needed")
	}
	return out, chance
}

func among(of []outcome, has func(o outcome) bool) []outcome {
	return slices.DeleteFunc(slices.Clone(of), func(o outcome) bool { return !has(o) })
}

// share prints how many of some runs found the best known.
func share(of []outcome) string {
	n := len(among(of, outcome.found))
	return fmt.Sprintf("%8d of %3d, %4.1f %%", n, len(of), 100*float64(n)/float64(max(len(of), 1)))
}

func worst(of []outcome) (out float64) {
	for _, o := range of {
		out = max(out, o.excess)
	}
	return out
}

func mean(of []outcome, part func(o outcome) float64) float64 {
	sum := 0.0
	for _, o := range of {
		sum += part(o)
	}
	return sum / float64(max(len(of), 1))
}

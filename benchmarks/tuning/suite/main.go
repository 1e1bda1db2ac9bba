// Command suite measures how often tuning finds the best optimum known, on pairs of
// a table and a kernel. See benchmarks/README.md.
//
//	suite best -o best.jsonl          the best of at least 50 long starts of each pair
//	suite run -o runs.jsonl           gpfit's own tuning, for several seeds
//	suite report best.jsonl runs…     both compared
//
// Both of the first write one JSON object per line, as they go, and leave out what
// their file already holds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"

	"gpfit/cpu"
	"gpfit/device"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a command: best, run or report")
	}
	if args[0] == "report" {
		return report(args[1:])
	}
	var j job
	flags := flag.NewFlagSet("suite "+args[0], flag.ContinueOnError)
	flags.StringVar(&j.out, "o", "", "file of results, to which the command adds")
	flags.StringVar(&j.data, "data", "../shared/data", "folder of the reference tables")
	flags.StringVar(&j.label, "label", "", "name of this version of gpfit in the results")
	flags.IntVar(&j.restarts, "restarts", 5, "number of restarts")
	flags.IntVar(&j.seeds, "seeds", 5, "number of seeds")
	flags.BoolVar(&j.held, "held", false, "only the pairs that served for no choice")
	flags.BoolVar(&j.dev, "chosen", false, "only the pairs that served for choices")
	only := flags.String("only", "", "regular expression of the pairs")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var err error
	if j.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if j.b, err = cpu.New(device.Options{Threads: 1}); err != nil {
		return err
	}
	defer j.b.Close()
	switch args[0] {
	case "best":
		j.label, j.restarts, j.seeds = "", 0, 1
		return j.each(j.best)
	case "run":
		return j.each(j.tuned)
	}
	return fmt.Errorf("%s is not a command: name best, run or report", args[0])
}

// version is a label with a number of restarts.
type version struct {
	label    string
	restarts int
}

// report compares runs with the best known. A run that went below the best known
// improves it for all.
func report(args []string) error {
	if len(args) < 2 {
		return errors.New("report takes the file of best and files of runs")
	}
	var known, runs []result
	for i, path := range args {
		more, err := read(path)
		if err != nil {
			return err
		}
		if known = append(known, more...); i > 0 {
			runs = append(runs, more...)
		}
	}
	best := map[string]float64{}
	for _, r := range known {
		if f, ok := best[r.Pair]; !ok || r.NLML < f {
			best[r.Pair] = r.NLML
		}
	}
	var versions []version
	of := map[version][]result{}
	for _, r := range runs {
		v := version{r.Label, r.Restarts}
		if of[v] == nil {
			versions = append(versions, v)
		}
		of[v] = append(of[v], r)
	}
	held := map[string]bool{}
	for _, p := range pairs() {
		held[p.name()] = p.held
	}
	fmt.Printf("%-12s %8s %22s %22s %14s\n", "version", "restarts", "within 0.5 nats", "of the held pairs", "mean cost")
	for _, v := range versions {
		found := func(r result) bool { return r.NLML <= best[r.Pair]+withinNats }
		of := of[v]
		ofHeld := slices.DeleteFunc(slices.Clone(of), func(r result) bool { return !held[r.Pair] })
		fmt.Printf("%-12s %8d %s %s %14.1f\n", v.label, v.restarts, share(of, found), share(ofHeld, found), meanCost(of))
	}
	fmt.Println()
	for _, p := range pairs() {
		f, ok := best[p.name()]
		if !ok {
			continue
		}
		fmt.Printf("%-34s best %12.3f", p.name(), f)
		for _, v := range versions {
			of := slices.DeleteFunc(slices.Clone(of[v]), func(r result) bool { return r.Pair != p.name() })
			worst := 0.0
			for _, r := range of {
				worst = math.Max(worst, r.NLML-f)
			}
			fmt.Printf("   %s/%d: +%.2f, cost %.0f", v.label, v.restarts, worst, meanCost(of))
		}
		fmt.Println()
	}
	return nil
}

// share prints how many of some runs are good.
func share(of []result, good func(result) bool) string {
	n := 0
	for _, r := range of {
		if good(r) {
			n++
		}
	}
	return fmt.Sprintf("%8d of %3d, %4.1f %%", n, len(of), 100*float64(n)/float64(max(len(of), 1)))
}

func meanCost(of []result) float64 {
	sum := 0.0
	for _, r := range of {
		sum += r.Cost
	}
	return sum / float64(max(len(of), 1))
}

// Command suite measures how often tuning finds the best optimum known, on pairs of
// a table and a kernel. See benchmarks/README.md.
//
//	suite best -o best.jsonl          the best of at least 50 long starts of each pair
//	suite run -o runs.jsonl           gpfit's own tuning, for several seeds
//	suite report best.jsonl runs…     both compared, by groups of pairs, and what the reports said
//	suite tables FOLDER               the tables as CSV files, and a list of the pairs
//
// Both of the first write one JSON object per line, as they go, and leave out what
// their file already holds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

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
		return errors.New("name a command: best, run, report or tables")
	}
	if args[0] == "report" {
		return report(args[1:])
	}
	var j job
	flags := flag.NewFlagSet("suite "+args[0], flag.ContinueOnError)
	flags.StringVar(&j.out, "o", "", "file of results, to which the command adds")
	flags.StringVar(&j.data, "data", "../../shared/data", "folder of the reference tables")
	flags.Uint64Var(&j.tables, "tables", 0, "seed of the tables: with another number than 0, pairs that served for nothing")
	flags.StringVar(&j.label, "label", "", "name of this version of gpfit in the results")
	flags.IntVar(&j.restarts, "restarts", 5, "number of restarts")
	flags.IntVar(&j.seeds, "seeds", map[bool]int{true: 1, false: 5}[args[0] == "best"], "number of seeds, of best sets of starts")
	flags.BoolVar(&j.held, "held", false, "only the pairs that served for no choice")
	flags.BoolVar(&j.dev, "chosen", false, "only the pairs that served for choices")
	flags.StringVar(&j.coarse, "coarse", "", "option coarse of the runs")
	only := flags.String("only", "", "regular expression of the pairs")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "tables" {
		return write(flags.Arg(0), j.data, j.tables)
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
		j.label, j.restarts = "", 0
		return j.each(j.best)
	case "run":
		return j.each(j.tuned)
	}
	return fmt.Errorf("%s is not a command: name best, run, report or tables", args[0])
}

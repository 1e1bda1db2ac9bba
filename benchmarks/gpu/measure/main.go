// Command measure times and checks the individual steps of an evaluation on one
// device and prints one JSON object per line; see ../README.md. It is part of the
// benchmarks, not of gpfit; run.py runs it on machines without Go.
//
// main.go defines the commands and their flags, job.go a command's job and the evaluated
// problem; each other file has one or two commands.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"gpfit/device"
)

// Exit codes; 12 is gpfit's code for an unavailable device.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnavailable = 12
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

var commands = map[string]struct {
	does  string
	sizes string // default of --n
	run   func(*job) error
}{
	"dgemm":    {"the rate of the matrix product", "2048,4096,8192,12288,16384,24576", (*job).dgemm},
	"stages":   {"the stages of value and gradient", "10000", (*job).stages},
	"residual": {"the residual of sampled columns of the inverse", "10000", (*job).residual},
	"agree":    {"value and gradient against the CPU's, all kernels", "500,1000,2000", (*job).agree},
	"tiles":    {"the method tiles against the method dense", "20000,40000", (*job).tiles},
	"largest":  {"the largest n that the memory allows", "0", (*job).largest},
	"kernels":  {"load only the kernels, and report how the compiler compiled them", "0", (*job).kernels},
	"data":     {"write the synthetic data: x by rows, then y, float64", "10000", (*job).data},
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || commands[args[0]].run == nil {
		fmt.Fprintf(stderr, "usage: measure COMMAND [FLAGS]\n\n")
		for _, name := range []string{"dgemm", "stages", "residual", "agree", "tiles", "largest", "kernels", "data"} {
			fmt.Fprintf(stderr, "  %-9s %s\n", name, commands[name].does)
		}
		return exitUsage
	}
	command := commands[args[0]]
	j := &job{ctx: ctx, out: json.NewEncoder(stdout)}
	flags := flag.NewFlagSet("measure "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("n", command.sizes, "numbers of points, separated by commas")
	flags.StringVar(&j.device, "device", "cuda:0", "where to compute: cuda:0, cpu, …; for tiles also several, cuda:0,cuda:1")
	flags.StringVar(&j.kernel, "kernel", "rbf", "covariance function of stages, residual and largest")
	flags.IntVar(&j.d, "d", 8, "columns of the synthetic data")
	flags.Uint64Var(&j.seed, "seed", 1, "seed of the synthetic data")
	flags.IntVar(&j.repeat, "repeat", 3, "timed evaluations")
	flags.IntVar(&j.columns, "columns", 4, "residual: number of columns")
	flags.IntVar(&j.threads, "threads", 0, "CPU threads, 0 for all")
	flags.Float64Var(&j.tolerance, "tolerance", 1e-9, "agree: largest relative difference")
	flags.BoolVar(&j.objective, "objective", false, "stages: also evaluate a fit's expression graph")
	flags.BoolVar(&j.gradient, "gradient", false, "residual: also the diagonal of the inverse that the gradient uses; largest: also the gradient")
	flags.StringVar(&j.ways, "ways", byDense+","+byTiles, "tiles: dense; tiles; host, the tiles mostly in the memory of the host; all results are compared with the first way's")
	flags.Float64Var(&j.onHost, "on-host", 2.0/3, "tiles: the share of the tiles that way host has in the memory of the host")
	flags.IntVar(&j.order, "order", 0, "tiles: order of a tile, a multiple of 8; 0 for the best one")
	flags.IntVar(&j.rows, "rows", 64, "tiles: rows of Σα − y to check")
	flags.StringVar(&j.file, "out", "", "data: the file to write")
	if err := flags.Parse(args[1:]); err != nil {
		return exitUsage
	}
	var err error
	if j.sizes, err = parseSizes(*sizes); err != nil || flags.NArg() > 0 || j.d < 1 || j.repeat < 1 || j.columns < 1 || j.rows < 1 {
		fmt.Fprintf(stderr, "measure %s: invalid value of a flag, or unexpected arguments after the flags: %v\n", args[0], err)
		return exitUsage
	}
	if args[0] != "data" && args[0] != "kernels" {
		if j.all, err = j.open(j.device); err != nil {
			return failure(stderr, err)
		}
		j.b = j.all[0]
		for _, b := range j.all {
			defer b.Close()
		}
		describe(j)
	}
	return failure(stderr, command.run(j))
}

// failure prints err and returns its exit code.
func failure(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "measure: %v\n", err)
	if errors.As(err, new(*device.UnavailableError)) {
		return exitUnavailable
	}
	return exitFailed
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	for s := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--n %q", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

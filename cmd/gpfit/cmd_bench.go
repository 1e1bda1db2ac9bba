package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/internal/bench"
	"gpfit/internal/tuning"
)

type benchFlags struct {
	training.Flags
	data      string
	sizes     []int
	d, repeat int
	plot      flags.Plot
}

// The largest values of --repeat and --d.
const (
	maxRepeat  = 10_000
	maxColumns = 1 << 20
)

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of each device and compare it with the device's limit",
		Long: `Measure how long a device takes for the negative log marginal likelihood (NLML),
for NLML and gradient, and for predictions, at each number of rows n. A value
with its gradient costs n³ floating-point operations, whatever the number of
parameters. gpfit compares its rate with a limit: the rate of the device's matrix
product (dgemm), which it measures in the same run.

Times are medians after one warm-up. Each evaluation changes the parameters by a
millionth, so that nothing is reused; the NLML shown is the value at the given
parameters. Peak memory, on Linux only, is the largest resident memory of the
process during the measurements of one n. Predictions give mean and standard
deviation.`,
		Example: `  gpfit bench --n 500,1000,2000 --plot speed.svg
  gpfit bench --data data.csv --ard --device cpu,cuda:0 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd, &f) },
	}
	s := flags.InOrder(cmd)
	s.IntSliceVar(&f.sizes, "n", []int{1000, 2000, 4000}, "numbers of rows; each measurement takes the first n rows of the table")
	s.StringVar(&f.data, "data", "", "`FILE` with the table (default: a synthetic table from --d and --seed)")
	s.IntVar(&f.d, "d", 8, "number of columns of the synthetic table")
	f.Add(s, "bench")
	s.Lookup("seed").Usage = "seed of the synthetic table or of option subsample"
	s.IntVar(&f.repeat, "repeat", 5, "number of timed evaluations of each kind; gpfit shows their median")
	f.plot.Add(s, "time against n")
	flags.InGroup(s, "Measurement", "n", "data", "d", "repeat")
	s.Lookup("device").Usage = "where to compute: auto, or one or more names from 'gpfit devices', separated by commas"
	s.Lookup("json").Usage = "print one JSON object per line instead of text: the machine, then each n on each device"
	return cmd
}

func runBench(cmd *cobra.Command, f *benchFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	jobs, err := f.jobs(ctx, msg, cmd.InOrStdin())
	if err != nil {
		return err
	}
	for _, w := range jobs[0].Warnings() {
		msg.Warn(w)
	}
	opened, err := f.open(ctx, msg)
	if err != nil {
		return err
	}
	defer opened.Close()
	out := bench.Printer{W: cmd.OutOrStdout(), JSON: f.Output.JSON}
	if err := out.Machine(f.machine(jobs[0])); err != nil {
		return err
	}
	results, err := f.measure(ctx, msg, &out, opened, jobs)
	msg.Clear()
	if err != nil || f.plot.Path == "" {
		return err
	}
	if err := f.plot.Write(ctx, bench.Plot(results), f.Output.Force); err != nil {
		return err
	}
	msg.Note("plot written to %s", f.plot.Path)
	return nil
}

// check finds mistakes in the flags before any work.
func (f *benchFlags) check(s *pflag.FlagSet) error {
	switch smallest := slices.Min(append(f.sizes, 2)); {
	case smallest < 2:
		return exit.Usagef("--n %d: a model needs at least 2 rows", smallest)
	case f.Data.Targets != nil:
		return exit.Usagef("--target %s: a measurement takes one target", strings.Join(f.Data.Targets, ","))
	case len(f.sizes) == 0:
		return exit.Usagef("--n: give at least one number of rows")
	case f.repeat < 1 || f.repeat > maxRepeat:
		return exit.Usagef("--repeat %d: must be from 1 to %d", f.repeat, maxRepeat)
	case f.d < 1 || f.d > maxColumns:
		return exit.Usagef("--d %d: must be from 1 to %d", f.d, maxColumns)
	case f.data != "" && s.Changed("d"):
		return exit.Usagef("--d is for a synthetic table: leave it out with --data")
	case f.data != "" && f.Changed("seed") && f.Data.Subsample == 0:
		return exit.Usagef("--seed is for a synthetic table: leave it out with --data")
	}
	if err := f.plot.Check(); err != nil {
		return err
	}
	return output.Check(f.Output.Force, []output.Destination{{Flag: "plot", Path: f.plot.Path}}, f.data)
}

// table reads --data or makes the synthetic table.
func (f *benchFlags) table(ctx context.Context, stdin io.Reader) (problem.Data, error) {
	n := slices.Max(f.sizes)
	if f.data == "" {
		if f.Changed("target", "features", "subsample") {
			return problem.Data{}, exit.Usagef("--target, --features and --subsample need a table: give --data")
		}
		if err := bench.CheckSize(n, f.d); err != nil {
			return problem.Data{}, err
		}
		return bench.Synthetic(n, f.d, f.Data.Seed), nil
	}
	data, err := f.ReadTable(ctx, f.data, stdin)
	if err == nil && data.N < n {
		err = exit.Usagef("--n %d: %s has %d rows", n, f.data, data.N)
	}
	return data, err
}

// jobs prepares one job for every n.
func (f *benchFlags) jobs(ctx context.Context, msg *messages.Writer, stdin io.Reader) ([]*tuning.Job, error) {
	data, err := f.table(ctx, stdin)
	if err != nil {
		return nil, err
	}
	msg.Columns(data.Encoding)
	jobs := make([]*tuning.Job, len(f.sizes))
	for i, n := range f.sizes {
		if jobs[i], err = fit.Prepare(bench.FirstRows(data, n), f.Fit, problem.Events{OnProgress: msg.Progress}); err != nil {
			return nil, fmt.Errorf("n = %d: %w", n, err)
		}
	}
	return jobs, nil
}

// open opens the devices of the list, each once.
func (f *benchFlags) open(ctx context.Context, msg *messages.Writer) (*gpfit.OpenDevices, error) {
	o, err := devices.Open(ctx, msg, f.Compute, device.Workload{}, false)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, b := range o.Backends {
		if name := b.Info().Name; names[name] {
			o.Close()
			return nil, exit.Usagef("--device %s: names %s twice", f.Compute.Device, name)
		}
		names[b.Info().Name] = true
	}
	return o, nil
}

// measure measures every n on every device and prints each result at once.
func (f *benchFlags) measure(ctx context.Context, msg *messages.Writer, out *bench.Printer, opened *gpfit.OpenDevices, jobs []*tuning.Job) ([]*bench.Result, error) {
	var results []*bench.Result
	for _, b := range opened.Backends {
		limit, err := bench.DgemmRate(ctx, b)
		if err != nil {
			return nil, err
		}
		if limit.Rate > 0 {
			msg.Note("%s: dgemm reaches %.1f GFLOP/s, best at n = %d", b.Info().Name, limit.Rate/1e9, limit.N)
		}
		for _, job := range jobs {
			msg.Note("%s: n = %d, d = %d, kernel %s", b.Info().Name, job.N(), job.D(), job.Kernel())
			devices.NotePlan(msg, job.Plan(b))
			if err := limit.Again(ctx, b); err != nil {
				return nil, err
			}
			r, err := bench.Run(ctx, job, b, limit, f.repeat)
			msg.Clear()
			if err != nil {
				return nil, fmt.Errorf("n = %d on %s: %w", job.N(), b.Info().Name, err)
			}
			if err := out.Result(r); err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// machine describes the processor, the program and the data of the measurements.
func (f *benchFlags) machine(job *tuning.Job) *bench.Machine {
	m := &bench.Machine{
		CPU: devices.CPU(), Gpfit: thisBuild().Version, Revision: thisBuild().Revision,
		Data: f.data, Kernel: job.Kernel(), Standardize: string(f.Fit.Standardize), Repeat: f.repeat,
	}
	if m.Data == "" {
		m.Data = fmt.Sprintf("synthetic, d = %d, seed %d: %s", f.d, f.Data.Seed, bench.SyntheticText)
	}
	return m
}

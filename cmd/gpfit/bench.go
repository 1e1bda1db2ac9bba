package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/internal/bench"
	"gpfit/internal/plotting"
)

type benchFlags struct {
	data string
	dataFlags
	modelFlags
	deviceFlags
	sizes     []int
	d, repeat int
	plot      string
}

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "The speed of evaluations per device and n, against the device's own limit",
		Long: `Measure how long a device takes for the negative log marginal likelihood (NLML),
for NLML and gradient, and for predictions, at each number of rows n. A value
with gradient costs n³ floating-point operations whatever the number of
parameters: the rate of the device's matrix product (dgemm), measured in the same
run, is the limit that the result is compared with.

Times are medians after one warm-up, each at parameters that differ by a
millionth from the last, so that nothing is reused; the NLML shown is at the
given parameters. Peak memory is the largest resident memory of the process
during an n, on Linux. Predictions give mean and standard deviation.`,
		Example: `  gpfit bench --n 500,1000,2000 --plot speed.svg
  gpfit bench --data data.csv --ard --device cpu,cuda:0 --json`,
		Args: exactArgs(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd, &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.IntSliceVar(&f.sizes, "n", []int{1000, 2000, 4000}, "numbers of rows: the first n of the table")
	s.StringVar(&f.data, "data", "", "a table, `FILE` (default: a synthetic one from --d and --seed)")
	s.IntVar(&f.d, "d", 8, "columns of the synthetic table")
	f.dataFlags.add(s)
	s.Lookup("seed").Usage = "seed of the synthetic table or of --subsample"
	f.addModel(s)
	s.IntVar(&f.repeat, "repeat", 5, "timed evaluations of each kind; their median is shown")
	s.StringVar(&f.plot, "plot", "", "also draw time against n to `FILE`, .svg or .png")
	f.deviceFlags.add(s)
	s.Lookup("device").Usage = "where to compute: auto, or one or more names from 'gpfit devices', separated by commas"
	s.Lookup("json").Usage = "print one JSON object per line instead of text: the machine, then each n on each device"
	completeValues(cmd)
	return cmd
}

// addModel adds the flags of the model that make sense without a fit.
func (f *benchFlags) addModel(s *pflag.FlagSet) {
	var all pflag.FlagSet
	f.modelFlags.add(&all)
	for _, name := range []string{"kernel", "ard", "mean", "standardize", "set"} {
		s.AddFlag(all.Lookup(name))
	}
}

func runBench(cmd *cobra.Command, f *benchFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	data, err := f.table(cmd.InOrStdin())
	if err != nil {
		return err
	}
	opts.OnProgress = msg.progress
	tasks, err := f.tasks(data, opts)
	if err != nil {
		return err
	}
	for _, w := range tasks[0].Warnings() {
		msg.warn(w)
	}
	backends, err := f.openAll(ctx, msg)
	for _, b := range backends {
		defer b.Close()
	}
	if err != nil {
		return err
	}
	out := bench.Printer{W: cmd.OutOrStdout(), JSON: f.json}
	if err := out.Machine(f.machine(tasks[0])); err != nil {
		return err
	}
	results, err := measureAll(ctx, msg, &out, backends, tasks, f.repeat)
	msg.clear()
	if err != nil || f.plot == "" {
		return err
	}
	if err := bench.Plot(results).Write(f.plot); err != nil {
		return &writeError{err}
	}
	msg.note("plot written to %s", f.plot)
	return nil
}

// check finds mistakes in the flags before any work.
func (f *benchFlags) check(cmd *cobra.Command) error {
	for _, n := range f.sizes {
		if n < 2 {
			return usagef("--n %d: a model needs at least 2 rows", n)
		}
	}
	switch {
	case f.targets() != nil:
		return usagef("--target %s: measurements are of one target", f.target)
	case len(f.sizes) == 0:
		return usagef("--n: no numbers of rows")
	case f.repeat < 1:
		return usagef("--repeat %d: must be at least 1", f.repeat)
	case f.d < 1:
		return usagef("--d %d: must be at least 1", f.d)
	}
	if f.data != "" {
		for _, name := range []string{"d", "seed"} {
			if cmd.Flags().Changed(name) && (name == "d" || f.subsample == 0) {
				return usagef("--%s is for a synthetic table: leave it out with --data", name)
			}
		}
	}
	if f.plot != "" {
		if _, err := plotting.Format(f.plot); err != nil {
			return usagef("--plot %v", err)
		}
	}
	return nil
}

// table reads --data or makes the synthetic table.
func (f *benchFlags) table(stdin io.Reader) (fit.Data, error) {
	n := slices.Max(f.sizes)
	if f.data == "" {
		if f.target != "" || len(f.features) > 0 || f.subsample != 0 {
			return fit.Data{}, usagef("--target, --features and --subsample need a table: give --data")
		}
		return bench.Synthetic(n, f.d, f.seed), nil
	}
	data, err := readData(f.data, stdin, &f.dataFlags, "")
	if err == nil && data.N < n {
		err = usagef("--n %d: %s has %d rows", n, f.data, data.N)
	}
	return data, err
}

// tasks prepares one task for every n.
func (f *benchFlags) tasks(data fit.Data, opts fit.Options) ([]*fit.Task, error) {
	var tasks []*fit.Task
	for _, n := range f.sizes {
		task, err := fit.Prepare(bench.FirstRows(data, n), opts)
		if err != nil {
			return nil, fmt.Errorf("n = %d: %w", n, err)
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// openAll opens the devices of the list. The caller closes those returned,
// also after an error.
func (f *benchFlags) openAll(ctx context.Context, msg *messages) ([]device.Backend, error) {
	var backends []device.Backend
	for name := range strings.SplitSeq(f.device, ",") {
		one := f.deviceFlags
		one.device = strings.TrimSpace(name)
		b, err := one.openOne(ctx, msg, 0, nil)
		if err != nil {
			return backends, err
		}
		backends = append(backends, b)
		if slices.ContainsFunc(backends[:len(backends)-1], func(o device.Backend) bool { return o.Info().Name == b.Info().Name }) {
			return backends, usagef("--device %s: %s is there twice", f.device, b.Info().Name)
		}
	}
	return backends, nil
}

// measureAll measures every n on every device and prints each result as it
// comes.
func measureAll(ctx context.Context, msg *messages, out *bench.Printer, backends []device.Backend, tasks []*fit.Task, repeat int) ([]*bench.Result, error) {
	var results []*bench.Result
	for _, b := range backends {
		limit, err := bench.DgemmRate(ctx, b)
		if err != nil {
			return nil, err
		}
		if limit.Rate > 0 {
			msg.note("%s: dgemm reaches %.1f GFLOP/s, best at n = %d", b.Info().Name, limit.Rate/1e9, limit.N)
		}
		for _, task := range tasks {
			msg.note("%s: n = %d, d = %d, kernel %s", b.Info().Name, task.N(), task.D(), task.Kernel())
			notePlan(msg, task.Plan(b))
			if err := limit.Again(ctx, b); err != nil {
				return nil, err
			}
			r, err := bench.Run(ctx, task, b, limit, repeat)
			msg.clear()
			if err != nil {
				return nil, fmt.Errorf("n = %d on %s: %w", task.N(), b.Info().Name, err)
			}
			if err := out.Result(r); err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// machine says what the results are measured on and with.
func (f *benchFlags) machine(task *fit.Task) *bench.Machine {
	m := &bench.Machine{
		CPU: cpu.Driver{}.Probe(context.Background())[0].Detail, CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Go: runtime.Version(), Gpfit: version, Revision: buildRevision(),
		Date: time.Now().UTC().Format(time.RFC3339), Arguments: os.Args[1:],
		Data: f.data, Kernel: task.Kernel(), Standardize: f.standardize, Repeat: f.repeat,
	}
	if m.Data == "" {
		m.Data = fmt.Sprintf("synthetic, d = %d, seed %d: %s", f.d, f.seed, bench.SyntheticText)
	}
	return m
}

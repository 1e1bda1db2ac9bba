// Command tail counts the evaluations over all rows that fits of large tables need to
// their end.
//
//	tail [-coarse auto|on|off] [-restarts N] [-trace] [-device NAME] [-o FILE] TABLE.csv...
//
// It fits each table with rbf(ard) from the default start. A line of the output is a fit;
// with -trace, so is each accepted iteration over all rows. -o adds the fits to a file,
// one JSON object a line. See benchmarks/README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpfit"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/dataset"
)

// settings holds the flags.
type settings struct {
	device, kernel, out, label string
	trace                      bool
	tune                       hyperopt.Settings
}

// outcome is a line of the file of results.
type outcome struct {
	Table      string             `json:"table"`
	Label      string             `json:"label,omitempty"`
	Rows       int                `json:"rows"`
	Coarse     string             `json:"coarse"`
	Restarts   int                `json:"restarts"`
	Values     int                `json:"values"`
	Gradients  int                `json:"gradients"`
	All        int                `json:"all_values"`
	NLML       float64            `json:"nlml"`
	Status     string             `json:"status"`
	Seconds    float64            `json:"seconds"`
	Device     string             `json:"device"`
	Parameters map[string]float64 `json:"parameters"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tail:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var s settings
	flags := flag.NewFlagSet("tail", flag.ContinueOnError)
	flags.StringVar(&s.device, "device", "", "device, as for gpfit fit")
	flags.StringVar(&s.kernel, "kernel", "rbf(ard)", "kernel")
	flags.StringVar(&s.out, "o", "", "file of results, to which the command adds")
	flags.StringVar(&s.label, "label", "", "name of this version of gpfit in the results")
	flags.BoolVar(&s.trace, "trace", false, "print each iteration over all rows")
	flags.IntVar(&s.tune.Restarts, "restarts", 0, "number of restarts")
	flags.Uint64Var(&s.tune.Seed, "seed", 0, "seed")
	flags.IntVar(&s.tune.MaxEvaluations, "max-evals", 0, "limit of evaluations")
	flags.Float64Var(&s.tune.ToleranceNats, "tolerance-nats", 0, "tolerance in nats; 0 is the default, negative never")
	coarse := flags.String("coarse", "auto", "auto, on or off")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.tune.Coarse = hyperopt.Coarse(*coarse)
	for _, path := range flags.Args() {
		if err := s.fit(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// fit fits one table.
func (s settings) fit(path string) (err error) {
	ctx := context.Background()
	data, err := dataset.Read(path, nil, dataset.Options{})
	if err != nil {
		return err
	}
	var events problem.Events
	if s.trace {
		events.OnIteration = func(it descent.Iteration) {
			if it.Rows == 0 {
				fmt.Printf("    start %d, iteration %d: %d values, %d gradients, NLML %.6f, gradient %.3g\n",
					it.Start, it.Iteration, it.Evaluations.Value, it.Evaluations.Gradient, it.F, it.GradientNorm)
			}
		}
	}
	job, err := fit.Prepare(data, problem.Options{Kernel: s.kernel, Settings: s.tune}, events)
	if err != nil {
		return err
	}
	devices, err := gpfit.Devices{Name: s.device}.Open(ctx, device.Workload{N: data.N, Program: job.Program()})
	if err != nil {
		return err
	}
	defer devices.Close()
	result, err := fit.Run(ctx, job, devices.Backends...)
	if err != nil {
		return err
	}
	defer result.Close()
	r := result.Report
	line := outcome{
		Table: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Label: s.label, Rows: r.N, Coarse: string(s.tune.Coarse), Restarts: s.tune.Restarts,
		Values: r.Evaluations.FullSizeValue, Gradients: r.Evaluations.FullSizeGradient, All: r.Evaluations.Value,
		NLML: r.NLML, Status: r.Status, Seconds: r.Seconds, Device: devices.Choice.Device, Parameters: r.Parameters,
	}
	fmt.Printf("%-10s %-8s coarse %-4s restarts %d: %6d rows, %3d values, %3d gradients over all rows, %4d values in all, NLML %.6f, %s, %.1f s on %s\n",
		line.Table, line.Label, line.Coarse, line.Restarts, line.Rows, line.Values, line.Gradients, line.All, line.NLML, line.Status, line.Seconds, line.Device)
	for _, p := range r.Path {
		fmt.Printf("    %s on %d rows: %d starts, %d values, %d gradients, %.6f\n", p.Step, p.Rows, p.Starts, p.Value, p.Gradient, p.Objective)
	}
	return s.add(line)
}

// add appends the outcome to the file of results.
func (s settings) add(line outcome) error {
	if s.out == "" {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

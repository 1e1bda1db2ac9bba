package main

import (
	"cmp"
	"fmt"
	"slices"

	"gpfit"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/compare/speed"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
)

func runBench(c *cli.Command) error {
	if err := c.CheckOutputs([]string{c.Bench.Table}); err != nil {
		return err
	}
	if _, err := problem.FindMethod(c.Compute.Method, gpfit.Methods(), c.Fit); err != nil {
		return err
	}
	jobs, err := benchJobs(c)
	if err != nil {
		return err
	}
	c.Msg.Warn(jobs[0].Warnings()...)
	opened, err := openAll(c)
	if err != nil {
		return err
	}
	defer opened.Close()
	out := speed.Printer{W: c.Out, JSON: c.Output.JSON}
	if err := out.Machine(machine(c, jobs[0])); err != nil {
		return err
	}
	results, err := measure(c, &out, opened, jobs)
	c.Msg.Clear()
	if err != nil || c.Plot.Path == "" {
		return err
	}
	if err := c.WritePlot(speed.Plot(results)); err != nil {
		return err
	}
	c.Msg.Note("plot written to %s", c.Plot.Path)
	return nil
}

// measuredTable reads --data or makes the synthetic table.
func measuredTable(c *cli.Command) (problem.Data, error) {
	o, n := c.Bench, slices.Max(c.Bench.Rows)
	if o.Table == "" {
		if err := speed.CheckSize(n, o.Columns); err != nil {
			return problem.Data{}, err
		}
		return speed.Synthetic(n, o.Columns, c.Data.Seed), nil
	}
	data, err := c.Table(o.Table)
	if err == nil && data.N < n {
		err = exit.Usagef("--n %d: %s has %d rows", n, o.Table, data.N)
	}
	return data, err
}

// benchJobs prepares one job for every n.
func benchJobs(c *cli.Command) ([]*tuning.Job, error) {
	data, err := measuredTable(c)
	if err != nil {
		return nil, err
	}
	c.Msg.Columns(data.Encoding)
	if c.Fit.Auto() { // an evaluation has nothing to choose
		c.Fit.Kernel = "rbf"
	}
	if c.Fit.Mean == problem.AutoMean {
		c.Fit.Mean = "zero"
	}
	jobs := make([]*tuning.Job, len(c.Bench.Rows))
	for i, n := range c.Bench.Rows {
		if jobs[i], err = fit.Prepare(speed.FirstRows(data, n), c.Fit, problem.Events{OnProgress: c.Msg.Progress}); err != nil {
			return nil, fmt.Errorf("n = %d: %w", n, err)
		}
	}
	return jobs, nil
}

// openAll opens the devices of the list, each once.
func openAll(c *cli.Command) (*gpfit.OpenDevices, error) {
	o, err := c.OpenDevices(device.Workload{}, 1)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, b := range o.Backends {
		if name := b.Info().Name; names[name] {
			o.Close()
			return nil, exit.Usagef("--device %s: names %s twice", c.Compute.Device, name)
		}
		names[b.Info().Name] = true
	}
	return o, nil
}

// measure measures every n on every device and prints each result at once.
func measure(c *cli.Command, out *speed.Printer, opened *gpfit.OpenDevices, jobs []*tuning.Job) ([]*speed.Result, error) {
	var results []*speed.Result
	for _, b := range opened.Backends {
		limit, err := speed.DgemmRate(c.Ctx, b)
		if err != nil {
			return nil, err
		}
		if limit.Rate > 0 {
			c.Msg.Note("%s: dgemm reaches %.1f GFLOP/s, best at n = %d", b.Info().Name, limit.Rate/1e9, limit.N)
		}
		for _, job := range jobs {
			c.Msg.Note("%s: n = %d, d = %d, kernel %s", b.Info().Name, job.N(), job.D(), job.Kernel())
			c.NotePlan(job.Plan(b))
			if err := limit.Again(c.Ctx, b); err != nil {
				return nil, err
			}
			r, err := speed.Run(c.Ctx, job, b, limit, c.Bench.Repeat)
			c.Msg.Clear()
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
func machine(c *cli.Command, job *tuning.Job) *speed.Machine {
	build := thisBuild()
	synthetic := fmt.Sprintf("synthetic, d = %d, seed %d: %s", c.Bench.Columns, c.Data.Seed, speed.SyntheticText)
	return &speed.Machine{
		CPU: devices.CPU(), Gpfit: build.Version, Revision: build.Revision, Data: cmp.Or(c.Bench.Table, synthetic),
		Kernel: job.Kernel(), Standardize: string(c.Fit.Standardize), Repeat: c.Bench.Repeat,
	}
}

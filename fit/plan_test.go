package fit

import (
	"math"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/internal/testcheck"
	"gpfit/method/markov"
)

// TestExpect checks that the plan of a fit counts about the values of a fit that is then made, with the restarts that few rows have
// by default, and that a choice has a part for each model.
func TestExpect(t *testing.T) {
	host := onCPU()
	for _, n := range []int{60, 400} {
		d := problem.Data{N: n, D: 2, X: make([]float64, 2*n), Y: make([]float64, n)}
		for i := range n {
			d.X[2*i], d.X[2*i+1] = math.Mod(float64(i)*0.618, 1), math.Mod(float64(i)*0.414, 1)
			d.Y[i] = math.Sin(7*d.X[2*i]) + d.X[2*i+1] + 0.1*math.Sin(float64(i*i))
		}
		for _, kernel := range []string{"rbf", problem.AutoKernel} {
			job := testcheck.Get(Prepare(d, problem.Options{Kernel: kernel}, problem.Events{}))(t)
			planned, seconds := 0, 0.
			parts := Expect(job, host)
			for _, part := range parts {
				planned, seconds = planned+part.Values, seconds+part.Seconds
			}
			if (len(parts) > 4) != (kernel == problem.AutoKernel) || seconds <= 0 {
				t.Errorf("%d rows, %s: %+v", n, kernel, parts)
			}
			out := testcheck.Get(Tune(t.Context(), job, host))(t)
			if made := out.Report.Evaluations.Value; planned < made/3 || planned > 3*made {
				t.Errorf("%d rows, %s: planned %d values, made %d", n, kernel, planned, made)
			}
			out.Close()
		}
	}
	for _, at := range []struct {
		rows, columns int
		target        func(i int) float64
	}{ // of seasons, that grow with their level or not, and of skewed targets in a table, whose choices are made twice with a logarithm
		{240, 1, func(i int) float64 { return 5 + math.Sin(float64(i)*math.Pi/6) + 0.3*math.Sin(float64(i*i)) }},
		{240, 1, func(i int) float64 {
			return math.Exp(float64(i)/100 + 0.3*math.Sin(float64(i)*math.Pi/6) + 0.1*math.Sin(float64(i*i)))
		}},
		{150, 2, func(i int) float64 {
			return math.Exp(2*math.Mod(float64(i)*0.618, 1) + math.Cos(6*math.Mod(float64(i)*0.414, 1)) + 0.1*math.Sin(float64(i*i)))
		}},
	} {
		d := problem.Data{N: at.rows, D: at.columns}
		for i := range at.rows {
			if d.Y = append(d.Y, at.target(i)); at.columns == 1 {
				d.X = append(d.X, float64(i))
			} else {
				d.X = append(d.X, math.Mod(float64(i)*0.618, 1), math.Mod(float64(i)*0.414, 1))
			}
		}
		job, planned := testcheck.Get(Prepare(d, problem.Options{}, problem.Events{}))(t), 0
		for _, part := range Expect(job, host) {
			planned += part.Values
		}
		out := testcheck.Get(Tune(t.Context(), job, host))(t)
		if made := out.Report.Evaluations.Value; planned < made*2/5 || planned > made*5/2 {
			t.Errorf("%d rows of %d columns: planned %d values, made %d", at.rows, at.columns, planned, made)
		}
		out.Close()
	}
	d := problem.Data{N: 300, D: 1}
	for i := range d.N { // a filter, whose Hessians are differences
		d.X, d.Y = append(d.X, float64(i)), append(d.Y, math.Sin(float64(i)*math.Pi/12)+math.Sin(float64(i)/50)+0.2*math.Sin(float64(i*i)))
	}
	job := testcheck.Get(Prepare(d, problem.Options{Kernel: "matern32*cosine + matern32*cosine + matern52"}, problem.Events{}))(t)
	series := testcheck.Get(markov.Method().Backends(host.Capabilities().Devices))(t)[0]
	out := testcheck.Get(Tune(t.Context(), job, series))(t)
	defer out.Close()
	e, planned := out.Report.Evaluations, Expect(job, series)[0].Seconds/job.GradientTime(series).Seconds()
	if made := float64(e.FullSizeValue) + float64(e.Value-e.FullSizeValue)/2 + float64(e.Hessian*job.Params.NumFree()); planned < made/2 || planned > 2*made {
		t.Errorf("a filter: planned the time of %g gradients, made %g: %+v", planned, made, e)
	}
	if few, many := tuning.Beginning(50), tuning.Beginning(100_000); few >= many {
		t.Errorf("%v, %v", few, many)
	}
	w := device.Workload{N: 100, D: 2}
	if small := device.GradientTime(host, w).Seconds(); small < 1e6/host.Plan(device.Workload{N: 2000, D: 2}).FlopRate {
		t.Errorf("a value of 100 rows takes %g s", small)
	}
}

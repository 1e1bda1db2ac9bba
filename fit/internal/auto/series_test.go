package auto_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
	"gpfit/method"
)

// runSeries is run on the host with the method that suits each model.
func runSeries(t *testing.T, d problem.Data, o problem.Options) *fit.Outcome {
	t.Helper()
	job := testcheck.Get(fit.Prepare(d, o, problem.Events{}))(t)
	out := testcheck.Get(fit.Run(t.Context(), job, anyMethod(t)))(t)
	t.Cleanup(out.Close)
	return out
}

func anyMethod(t *testing.T) device.Backend {
	all, _ := testcheck.Get2(device.Dispatch(t.Context(), device.Request{Device: "cpu", Method: device.Chosen}, []device.Driver{cpu.Driver{}}, method.All()...))(t)
	return all[0]
}

// hourly returns n hours of a load: a day with four harmonics, a weekend, noise that lasts some hours, and noise of each row.
func hourly(n int, seed uint64) problem.Data {
	rng, last := rand.New(rand.NewPCG(seed, 8)), 0.
	d := problem.Data{N: n, D: 1, FeatureNames: []string{"hour"}}
	for i := range n {
		last = 0.95*last + 0.3*rng.NormFloat64()
		day, weekend := 2*math.Pi*float64(i)/24, 1.
		if i/24%7 >= 5 {
			weekend = 0.8
		}
		y := weekend*(10+3*math.Cos(day)-2*math.Sin(2*day)+math.Cos(3*day+1)+0.7*math.Sin(4*day)) + last + rng.NormFloat64()
		d.X, d.Y = append(d.X, float64(i)), append(d.Y, y)
	}
	return d
}

// withoutEnd holds out the last rows.
func withoutEnd(d problem.Data, rows int) problem.Data {
	d.Test = make([]bool, d.N)
	for i := d.N - rows; i < d.N; i++ {
		d.Test[i] = true
	}
	return d
}

// TestSeries forecasts the last two weeks of a load from more rows than the window for kernels, and checks that the order of the rows does
// not matter: the seasons are in the mean, and the error is the noise's, far below the error of the values a week before.
func TestSeries(t *testing.T) {
	d := hourly(5000, 1)
	out := runSeries(t, withoutEnd(d, 336), problem.Options{})
	r := out.Report
	if !strings.Contains(r.Mean, "seasonal(24, ") || !strings.Contains(r.Mean, "seasonal(168, ") || out.Job.N() != 4664 || r.Choice.Rows != 4664 {
		t.Fatalf("%s, mean %s, compared on %d rows", r.Kernel, r.Mean, r.Choice.Rows)
	}
	naive := 0.
	for i := d.N - 336; i < d.N; i++ {
		week := i - 168*((i-(d.N-336))/168+1)
		naive += (d.Y[i] - d.Y[week]) * (d.Y[i] - d.Y[week])
	}
	naive = math.Sqrt(naive / 336)
	if rmse := r.Test.RMSE; !(rmse < 1.75) || !(rmse < 0.85*naive) { // the noise has a standard deviation of 1.4
		t.Errorf("the error is %v, by the week before %v", rmse, naive)
	}
	if slices.Contains(r.Choice.TooDear, "rbf(ard)") == strings.Contains(r.Kernel, "rbf") {
		t.Errorf("too dear: %v, chosen: %s", r.Choice.TooDear, r.Kernel)
	}

	shuffled := hourly(1500, 1)
	same := runSeries(t, shuffled, problem.Options{}).Report
	rand.New(rand.NewPCG(1, 1)).Shuffle(shuffled.N, func(i, j int) {
		shuffled.X[i], shuffled.X[j], shuffled.Y[i], shuffled.Y[j] = shuffled.X[j], shuffled.X[i], shuffled.Y[j], shuffled.Y[i]
	})
	other := runSeries(t, shuffled, problem.Options{}).Report
	if other.Kernel != same.Kernel || other.Mean != same.Mean {
		t.Errorf("in another order %s, %s; before %s, %s", other.Kernel, other.Mean, same.Kernel, same.Mean)
	}
	testcheck.Within(t, other.NLML, same.NLML, 1e-3*math.Abs(same.NLML), "NLML in another order")
}

// TestSeriesChoice compares each model of a choice on all rows with a fit of it alone: the BIC counts all rows.
func TestSeriesChoice(t *testing.T) {
	d := hourly(1500, 2)
	c := runSeries(t, d, problem.Options{}).Report.Choice
	if len(c.Models) < 4 {
		t.Fatalf("%d models", len(c.Models))
	}
	for _, m := range c.Models[:3] {
		alone := runSeries(t, d, problem.Options{Kernel: m.Kernel, Mean: m.Mean}).Report
		bic := 2*alone.NLML + float64(m.Parameters)*math.Log(1500)
		if m.BIC < bic-0.1 || m.BIC > bic+6 { // some values are not an optimum
			t.Errorf("%s, %s: BIC %g, alone %g", m.Kernel, m.Mean, m.BIC, bic)
		}
	}
}

// TestNoSeasons checks that noise has no seasons, that the options decide about the mean, and that a drifting cycle is in the kernel.
func TestNoSeasons(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	walk := problem.Data{N: 1200, D: 1}
	for i := range walk.N {
		last := 0.
		if i > 0 {
			last = walk.Y[i-1]
		}
		walk.X, walk.Y = append(walk.X, float64(i)), append(walk.Y, 0.9*last+rng.NormFloat64())
	}
	if r := runSeries(t, walk, problem.Options{}).Report; strings.Contains(r.Mean, "seasonal") {
		t.Errorf("noise: %s, mean %s", r.Kernel, r.Mean)
	}
	if r := runSeries(t, hourly(1500, 3), problem.Options{Mean: "linear"}).Report; r.Mean != "linear" {
		t.Errorf("mean %s for linear", r.Mean)
	}
	phase := 0.
	for i := range walk.Y {
		phase += 2*math.Pi/33.37 + 0.02*rng.NormFloat64()
		walk.Y[i] = 3*math.Cos(phase) + 0.3*rng.NormFloat64()
	}
	if r := runSeries(t, walk, problem.Options{}).Report; !strings.Contains(r.Kernel, "cosine") || strings.Contains(r.Mean, "seasonal") {
		t.Errorf("a cycle: %s, mean %s", r.Kernel, r.Mean)
	}
}

// TestGrowing forecasts a day whose amplitude grows: a wave of the kernel follows it.
func TestGrowing(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	d := problem.Data{N: 2000, D: 1}
	for i := range d.N {
		at := float64(i)
		d.X, d.Y = append(d.X, at), append(d.Y, (1+at/1000)*math.Sin(2*math.Pi*at/24)+0.2*rng.NormFloat64())
	}
	if r := runSeries(t, withoutEnd(d, 200), problem.Options{}).Report; !(r.Test.RMSE < 0.23) || r.Verdict.Level != summary.Good {
		t.Errorf("%s, mean %s: error %v, %s", r.Kernel, r.Mean, r.Test.RMSE, r.Verdict.Headline)
	}
}

// TestExactSeason continues a season without noise: the fit says that it is exact, and nothing of linear columns.
func TestExactSeason(t *testing.T) {
	for _, n := range []int{400, 1500} {
		d := problem.Data{N: n, D: 1}
		for i := range n {
			d.X, d.Y = append(d.X, float64(i)), append(d.Y, math.Sin(2*math.Pi*float64(i)/24))
		}
		r := runSeries(t, withoutEnd(d, 40), problem.Options{}).Report
		if r.Verdict.Level != summary.Good || !(r.Test.RMSE < 1e-9) || strings.Contains(strings.Join(r.Warnings, " "), "linear function") {
			t.Errorf("%d rows: error %v, %s, %v", n, r.Test.RMSE, r.Verdict.Headline, r.Warnings)
		}
	}
}

// TestDriftingForm forecasts a season whose form changes: the kernel follows it. The values stay few, because they begin at the period of the season.
func TestDriftingForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := problem.Data{N: 400, D: 1}
	for i := range d.N {
		at := float64(i)
		turn := 2 * math.Pi * at / 24
		y := 5*math.Cos(turn) + 3*math.Sin(2*turn+at/60) + 2*math.Sin(at/100)*math.Sin(3*turn) + 0.1*rng.NormFloat64()
		d.X, d.Y = append(d.X, at), append(d.Y, y)
	}
	r := runSeries(t, withoutEnd(d, 24), problem.Options{}).Report
	if r.Kernel != "matern12 + matern52*periodic" || !(r.Test.RMSE < 0.4) || r.Evaluations.Value > 700 {
		t.Errorf("%s, mean %s: error %v, %d values", r.Kernel, r.Mean, r.Test.RMSE, r.Evaluations.Value)
	}
}

// TestFewDays checks that a short series gets its week, on irregular days, and predicts the days between.
func TestFewDays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	d := problem.Data{N: 480, D: 1, Test: make([]bool, 480)}
	for i, day := range rng.Perm(1460)[:480] {
		y := 0.1 * rng.NormFloat64()
		if day%7 >= 5 {
			y += 2
		}
		d.X, d.Y, d.Test[i] = append(d.X, float64(day)), append(d.Y, y), i >= 240
	}
	if r := runSeries(t, d, problem.Options{}).Report; !strings.Contains(r.Mean, "seasonal(7, 3)") || !(r.Test.RMSE < 0.13) {
		t.Errorf("mean %s, error %v", r.Mean, r.Test.RMSE)
	}
}

// TestSeriesInterrupted stops a choice after some iterations, on the last rows and on all: the model is the best so far, of all rows.
func TestSeriesInterrupted(t *testing.T) {
	for _, after := range []int{2, 100} {
		ctx, cancel := context.WithCancel(t.Context())
		count := 0
		stop := problem.Events{OnIteration: func(descent.Iteration) {
			if count++; count == after {
				cancel()
			}
		}}
		job := testcheck.Get(fit.Prepare(hourly(9500, 4), problem.Options{}, stop))(t)
		out, err := fit.Tune(ctx, job, anyMethod(t))
		if !problem.IsCancelled(err) || out == nil {
			t.Fatalf("after %d iterations: %v", after, err)
		}
		if out.Job.N() != 9500 || out.Report.Status != "cancelled" {
			t.Errorf("after %d iterations: %d rows, status %s", after, out.Job.N(), out.Report.Status)
		}
		out.Close()
		cancel()
	}
}

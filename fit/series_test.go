package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// hours is a series of hours with a daily wave, one row an hour, in the order of time.
func hours(n int, noise float64) problem.Data {
	return drawn(5, 1, n, "hour load", func(i int, _, normal random) []float64 {
		return []float64{float64(i), 10 + 3*math.Sin(2*math.Pi*float64(i)/24) + noise*normal()}
	})
}

// TestNaiveForecast compares the naive forecast of held-out rows that follow the others with its definition, and the verdict
// with it.
func TestNaiveForecast(t *testing.T) {
	const n, held = 240, 60
	d := hours(n, 0.1)
	o := problem.Options{Kernel: "matern12", HoldOut: 0.25, Blocks: true}
	r := mustFit(t, d, o).Report
	naive := r.Test.Naive
	sum := 0.0
	for i := n - held; i < n; i++ {
		back := i - 24*(1+(i-(n-held))/24) // the first row of a season after the end goes back 24 hours
		sum += math.Pow(d.Y[i]-d.Y[back], 2)
	}
	if naive == nil {
		t.Fatal("no naive forecast")
	}
	testcheck.Within(t, naive.Season, 24, 0.5, "season")
	testcheck.Within(t, naive.RMSE, math.Sqrt(sum/held), 0.25*naive.RMSE, "naive error")
	testcheck.Within(t, naive.RMSEStandardized/naive.RMSE, r.Test.RMSEStandardized/r.Test.RMSE, 1e-12, "unit")
	if !r.Series || r.Verdict.Level != summary.Poor || !strings.Contains(r.Verdict.Text(), "no better than the naive forecast, the value one season (2") {
		t.Error(r.Verdict.Text())
	}
	o.Kernel = "periodic"
	if r := mustFit(t, d, o).Report; r.Test.Naive == nil || r.Verdict.Level != summary.Good || !strings.Contains(r.Verdict.Headline, "(the naive forecast has ") {
		t.Error(r.Verdict.Text())
	}
	o.Blocks = false
	if r := mustFit(t, d, o).Report; r.Test.Naive != nil || r.Verdict.Level != summary.Good {
		t.Errorf("rows between others: %s", r.Verdict.Text())
	}
}

// TestBefore checks the rows that seasons lead back to, also where times are irregular and between two.
func TestBefore(t *testing.T) {
	times := []float64{0, 1, 2, 3.2, 4, 5}
	for _, c := range []struct {
		at, season float64
		want       int
	}{{6, 0, 5}, {6, 3, 3}, {8, 3, 5}, {8.1, 3, 2}, {5.4, 2.3, 3}, {90, 5, 5}, {91, 5, 1}, {7, 4.9, 2}} {
		if got := before(times, c.at, c.season); got != c.want {
			t.Errorf("%+v: row %d", c, got)
		}
	}
}

// TestLast holds out the latest rows of a shuffled table, and compares the scores by horizon with their definition.
func TestLast(t *testing.T) {
	const n, held = 240, 60
	d := hours(n, 0.1)
	rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, k int) {
		d.X[i], d.X[k], d.Y[i], d.Y[k] = d.X[k], d.X[i], d.Y[k], d.Y[i]
	})
	observed := make([]float64, n)
	for i, hour := range d.X {
		observed[int(hour)] = d.Y[i]
	}
	out := mustFit(t, d, problem.Options{Kernel: "periodic", Standardize: gp.StandardizeY, HoldOut: 0.25, HoldOutLast: true, Fix: []problem.Assignment{{Name: "period", Value: 24, Given: true}}})
	if by := out.Report.HeldOut.By; by != "hour" || !out.Report.Series {
		t.Fatalf("held out by %q, series %t", by, out.Report.Series)
	}
	for _, row := range out.Report.HeldOut.Rows {
		if d.X[row] < n-held {
			t.Errorf("hour %v is held out", d.X[row])
		}
	}
	p := testcheck.Get(out.Model.Condition(t.Context(), backend))(t)
	defer p.Close()
	late := testcheck.Slice(held, func(i int) float64 { return float64(n - held + i) })
	mean := testcheck.Get(p.Predict(t.Context(), late, held))(t).Mean
	if season := out.Report.Test.Naive.Season; math.Abs(season-24) > 0.1 {
		t.Fatalf("season %v", season)
	}
	for k, want := range []int{6, 30, 60} {
		model, naive := 0.0, 0.0
		for i := range want {
			hour := n - held + i
			model += math.Pow(observed[hour]-mean[i], 2)
			naive += math.Pow(observed[hour]-observed[hour-24*(1+i/24)], 2)
		}
		h := out.Report.Test.Horizons[k]
		if h.N != want || h.Ahead != float64(want) {
			t.Errorf("horizon %d: %+v", k, h)
		}
		testcheck.Within(t, h.RMSE, math.Sqrt(model/float64(want)), 1e-9, "error")
		testcheck.Within(t, h.NaiveRMSE, math.Sqrt(naive/float64(want)), 1e-9, "naive error")
	}
	if last := out.Report.Test.Horizons[2]; math.Abs(last.RMSE-out.Report.Test.RMSE) > 1e-12 || math.Abs(float64(last.NLPD-out.Report.Test.NLPD)) > 1e-12 || last.Coverage95 != out.Report.Test.Coverage95 {
		t.Errorf("of all rows %+v, scores %+v", last, out.Report.Test)
	}
}

// TestLastOfSeveralColumns takes the last rows of the table where no column orders them, and says so.
func TestLastOfSeveralColumns(t *testing.T) {
	d := smooth(40)
	out := mustFit(t, d, problem.Options{Kernel: "rbf", HoldOut: 10, HoldOutLast: true})
	rows := testcheck.Slice(10, func(i int) float64 { return float64(30 + i) })
	for k, row := range out.Report.HeldOut.Rows {
		if float64(row) != rows[k] {
			t.Errorf("row %d is held out", row)
		}
	}
	if !slices.ContainsFunc(out.Report.Warnings, func(w string) bool { return strings.Contains(w, "takes the last rows of the table") }) {
		t.Errorf("warnings %q", out.Report.Warnings)
	}
	for text, message := range map[string]string{"last:": "must be a nonnegative number", "last:0": "holds out nothing", "last:0.5": "", "0": "holds out nothing", "last:1.5": "whole number", "12": ""} {
		_, err := problem.ParseHoldOut(text)
		if (err == nil) != (message == "") || err != nil && !strings.Contains(err.Error(), message) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// TestSeries checks that a series judged by rows left out one by one is not good, and what the report advises.
func TestSeries(t *testing.T) {
	d := hours(120, 0.1)
	v := mustFit(t, d, problem.Options{Kernel: "periodic"}).Report.Verdict
	if v.Level != summary.Fair || !strings.Contains(v.Text(), "forecasts are untested") || v.Next == nil || v.Next.Options["holdout"] != "last:0.2" {
		t.Error(v.Text())
	}
	d.X[0], d.X[2], d.Y[0], d.Y[2] = d.X[2], d.X[0], d.Y[2], d.Y[0]
	if r := mustFit(t, d, problem.Options{Kernel: "periodic"}).Report; r.Series || r.Verdict.Level != summary.Good {
		t.Error(r.Verdict.Text())
	}
}

// TestSeriesInFolds checks verdicts on a series by folds of rows, and by blocks, of which the last one is a forecast.
func TestSeriesInFolds(t *testing.T) {
	const n, k = 240, 5
	d := hours(n, 0.1)
	judged := func(kernel string, blocks bool) *summary.Report {
		f := mustFit(t, d, problem.Options{Kernel: kernel, Blocks: blocks})
		cv, err := CrossValidate(t.Context(), f.Job, backend, f.Report.Parameters, problem.CrossValidation{Folds: k})
		if err != nil {
			t.Fatal(err)
		}
		f.Report.Scores.CrossValidation = cv
		f.Report.Judge()
		return &f.Report
	}
	if v := judged("periodic", false).Verdict; v.Level != summary.Fair || !strings.Contains(v.Text(), "forecasts are untested") || v.Next.Options["holdout"] != "last:0.2" {
		t.Error(v.Text())
	}
	r := judged("periodic", true)
	sum, folds := 0.0, r.Scores.CrossValidation.Folds
	for i := n - n/k; i < n; i++ {
		sum += math.Pow(d.Y[i]-d.Y[i-24*(1+(i-(n-n/k))/24)], 2)
	}
	if folds[0].Naive != nil || folds[k-1].Naive == nil {
		t.Fatalf("naive forecasts of %+v", folds)
	}
	testcheck.Within(t, folds[k-1].Naive.RMSE, math.Sqrt(sum/(n/k)), 0.25*folds[k-1].Naive.RMSE, "naive error")
	if r.Verdict.Level != summary.Good {
		t.Error(r.Verdict.Text())
	}
	if v := judged("matern12", true).Verdict; !strings.Contains(v.Text(), "a forecast of the last block is no better than the naive one") || v.Level == summary.Good {
		t.Error(v.Text())
	}
	r = &mustFit(t, d, problem.Options{Kernel: "periodic", Objective: problem.CV, Folds: k}).Report // rows in the order of folds
	if !r.Series || r.Verdict.Level != summary.Fair {
		t.Error(r.Verdict.Text())
	}
}

// TestTimeColumn finds the time of tables with several columns: a column with regular steps, not one by which rows are sorted.
func TestTimeColumn(t *testing.T) {
	table := func(second func(i int, uniform random) float64) problem.Data {
		return drawn(7, 1, 60, "a b y", func(i int, uniform, normal random) []float64 {
			return []float64{uniform(), second(i, uniform), normal()}
		})
	}
	sum := 0.0
	for what, c := range map[string]struct {
		d    problem.Data
		want int
	}{
		"regular":      {table(func(i int, _ random) float64 { return float64(i) / 12 }), 1},
		"random":       {table(func(_ int, uniform random) float64 { return uniform() }), -1},
		"sorted":       {table(func(_ int, uniform random) float64 { sum += uniform() * uniform(); return sum }), -1},
		"constant":     {table(func(int, random) float64 { return 3 }), -1},
		"few distinct": {table(func(i int, _ random) float64 { return float64(i / 20) }), -1},
	} {
		if got := timeColumn(mustPrepare(t, c.d, problem.Options{Kernel: "rbf"}).Sample, nil); got != c.want {
			t.Errorf("%s: column %d", what, got)
		}
	}
}

// TestMissedSeason checks that a report on a series names the season that kernel and mean lack, that a fit which follows the
// advice forecasts it, and that no season is named where there is none, or where the model has it.
func TestMissedSeason(t *testing.T) {
	d := hours(360, 0.5)
	o := problem.Options{Kernel: "matern12", HoldOut: 60, HoldOutLast: true}
	r := mustFit(t, d, o).Report
	if r.Missed == nil || r.Missed.Period != 24 || r.Missed.Column != "hour" || r.Verdict.Next == nil || r.Verdict.Next.Options["mean"] != r.Missed.Mean {
		t.Fatalf("%+v, next %v", r.Missed, r.Verdict.Next)
	}
	before := r.Test.RMSE
	o.Mean = r.Missed.Mean
	if r = mustFit(t, d, o).Report; r.Missed != nil || r.Test.RMSE > 0.6 || before < 1 {
		t.Errorf("error %v, with the season %v; %+v", before, r.Test.RMSE, r.Missed)
	}
	for kernel, mean := range map[string]string{"periodic": "", "matern12*cosine": "", "matern12": "constant + seasonal(48, 2)"} {
		if m := mustFit(t, d, problem.Options{Kernel: kernel, Mean: mean}).Report.Missed; m != nil {
			t.Errorf("%s with mean %q: %+v", kernel, mean, m)
		}
	}
	noise := drawn(6, 1, 360, "hour load", func(i int, _, normal random) []float64 {
		return []float64{float64(i), float64(i)/300 + normal()}
	})
	if m := mustFit(t, noise, problem.Options{Kernel: "matern12"}).Report.Missed; m != nil {
		t.Errorf("noise with a trend: %+v", m)
	}
}

// TestAlias checks the warning of a period that rows cannot show.
func TestAlias(t *testing.T) {
	for text, want := range map[string]bool{"constant + seasonal(1.5, 1)": true, "constant + seasonal(2.5, 1)": false} {
		warnings := strings.Join(mustFit(t, hours(60, 0.1), problem.Options{Kernel: "rbf", Mean: text}).Report.Warnings, "")
		if got := strings.Contains(warnings, "less than two steps of 1 between rows"); got != want {
			t.Errorf("%s: %s", text, warnings)
		}
	}
}

// TestHiddenSeason checks that 2 % of gross errors hide a season neither from the choice of a robust fit nor from its next step.
func TestHiddenSeason(t *testing.T) {
	wandering := 0.0
	d := drawn(6, 5, 800, "day load", func(i int, uniform, normal random) []float64 {
		wandering = 0.7*wandering + 0.4*normal()
		y := math.Sin(2*math.Pi*float64(i)/7) + wandering
		if uniform() < 0.02 {
			y += 10 + 50*uniform()
		}
		return []float64{float64(i), y}
	})
	if r := mustFit(t, d, problem.Options{Robust: true}).Report; !strings.Contains(r.Mean, "seasonal(7, ") && !(strings.Contains(r.Kernel, "periodic")) || r.Missed != nil {
		t.Errorf("kernel %s, mean %s, missed %+v, %v", r.Kernel, r.Mean, r.Missed, r.Parameters)
	}
	if r := mustFit(t, d, problem.Options{Robust: true, Kernel: "matern12"}).Report; r.Missed == nil || r.Missed.Period != 7 {
		t.Errorf("season %+v", r.Missed)
	}
}

// TestLastTies checks that a hold-out of the latest rows says that rows of equal times stay together, and that its error has its own text.
func TestLastTies(t *testing.T) {
	d := problem.Data{N: 30, D: 1, FeatureNames: []string{"t"}}
	for i := range d.N {
		d.X, d.Y = append(d.X, float64(i/3)), append(d.Y, math.Sin(float64(i)))
	}
	warns := func(rows float64) string {
		job := testcheck.Get(Prepare(d, problem.Options{Kernel: "rbf", HoldOut: rows, HoldOutLast: true}, problem.Events{}))(t)
		return strings.Join(job.Warnings(), " ")
	}
	if said := warns(4); !strings.Contains(said, "takes 6 rows in place of 4: rows of equal t stay together") {
		t.Errorf("four rows: %q", said)
	}
	if said := warns(6); strings.Contains(said, "in place of") {
		t.Errorf("six rows: %q", said)
	}
	if _, err := Prepare(d, problem.Options{Kernel: "rbf", HoldOut: 40, HoldOutLast: true}, problem.Events{}); err == nil || !strings.Contains(err.Error(), "last:40") {
		t.Errorf("forty rows: %v", err)
	}
}

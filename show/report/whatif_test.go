package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/table/feature"
)

// node runs the script of a page in Node and returns its predictions of rows of features: for each row
// and target the mean and the standard deviation.
func node(t *testing.T, html string, rows [][]float64) (out [][]struct{ Mean, Std float64 }) {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: no Node here; .ci/pages compares in a browser")
	}
	found := scripts.FindAllStringSubmatch(html, -1)
	if len(found) != 2 {
		t.Fatalf("%d scripts", len(found))
	}
	input := testcheck.Get(json.Marshal(map[string]any{"data": json.RawMessage(found[0][2]), "script": found[1][2], "rows": rows}))(t)
	run := exec.CommandContext(t.Context(), program, "-e", `
		const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
		const predict = (0, eval)(given.script + "\n;predictor")(given.data.model);
		console.log(JSON.stringify(given.rows.map(row => predict(row))));`)
	run.Stdin, run.Stderr = strings.NewReader(string(input)), os.Stderr
	testcheck.Do(t, json.Unmarshal(testcheck.Get(run.Output())(t), &out))
	return out
}

func evaluations(n int) (s hyperopt.Settings) {
	s.MaxEvaluations = n
	return s
}

// TestWhatIf compares the script's predictions with gp's, with GPFIT_LONG for every kernel. Both
// compute in float64 with the same formulas. The tolerance allows for the condition of Σ, below 1e6, and
// for other roundings of exponentials.
func TestWhatIf(t *testing.T) {
	const tolerance = 1e-8
	texts := []string{"rq(rotated) + matern32(sphere)", "rbf(ard) + matern32*periodic(dims=0) + linear", "(rbf + matern12(dims=1))*rq", "poly(3)*cosine + constant", "constant", "hamming + matern52", "formula(erf(x)*erf(y), dims=0) + formula(sinc(r/a), a=2)*rbf"}
	if testcheck.Long() {
		for _, name := range kernel.Families() {
			texts = append(texts, name, name+"(ard)")
		}
	}
	means := []string{"constant", "zero", "linear", "poly(2)", "bumps(3, dims=0)", "seasonal(1.7, 2, dims=0)"}
	for i, text := range texts {
		t.Run(text, func(t *testing.T) {
			d, noise := table(40), []problem.Assignment{{Name: "noise_variance", Value: 0.1}}
			o := problem.Options{Kernel: text, Mean: means[i%len(means)], Settings: evaluations(2), Fix: noise}
			_, out := outcome(t, d, o)
			_, html := written(t, subjectOf(t, out))
			var rows [][]float64
			var flat []float64
			for k := range 8 {
				row := []float64{-1 + float64(k), 0.3 * float64(k*k%5)}
				rows, flat = append(rows, row), append(flat, row...)
			}
			rows, flat = append(rows, d.X[:2]), append(flat, d.X[:2]...) // a training row
			want := testcheck.Get(out.Posterior().Predict(t.Context(), flat, len(rows)))(t)
			for k, got := range node(t, html, rows) {
				size := math.Abs(want.Mean[k]) + want.Std[k]
				testcheck.Within(t, got[0].Mean, want.Mean[k], tolerance*size, fmt.Sprintf("mean of row %d", k))
				// Variances differ by the tolerance, deviations near 0 by its root.
				testcheck.Within(t, got[0].Std*got[0].Std, want.StdLatent[k]*want.StdLatent[k], tolerance*size*size, fmt.Sprintf("variance of row %d", k))
			}
		})
	}
}

// TestWhatIfColumns checks the controls of columns that are no numbers, and several targets.
func TestWhatIfColumns(t *testing.T) {
	d := encoded()
	d.TargetNames, d.TargetName = []string{"y", "twice"}, ""
	for i := range d.N {
		d.Y = append(d.Y, 2*d.Y[i])
	}
	_, out := outcome(t, d, problem.Options{Kernel: "matern52(ard)", Mean: "constant", Settings: evaluations(20)})
	p, html := written(t, subjectOf(t, out))
	var data sliders
	for _, s := range p.Sections {
		if s.Title == "What if" {
			testcheck.Do(t, json.Unmarshal(s.WhatIf, &data))
		}
	}
	byName := map[string]slider{}
	for _, c := range data.Columns {
		byName[c.Name] = c
	}
	when, colour, old := byName["when"], byName["colour"], byName["old"]
	if len(when.Dates) != 2 || when.Dates[1]-when.Dates[0] != 59*86400_000 {
		t.Errorf("date %+v", when)
	}
	if fmt.Sprint(colour.Categories, colour.Encoded, old.Encoded) != "[blue green red <b>] [[1 0 0] [0 1 0] [0 0 1]] [[0] [1]]" {
		t.Errorf("categories %+v %+v", colour, old)
	}
	want := testcheck.Get(out.Posterior().PredictTargets(t.Context(), data.Typical, 1, gp.RowNoise{}))(t)
	for i, got := range node(t, html, [][]float64{data.Typical})[0] {
		testcheck.Within(t, got.Mean, want[i].Mean[0], 1e-8, "mean")
		testcheck.Within(t, got.Std, want[i].StdLatent[0], 1e-6, "deviation")
	}
}

// TestWithoutWhatIf checks that a page says why it has no controls.
func TestWithoutWhatIf(t *testing.T) {
	for want, o := range map[string]problem.Options{
		"because the model has local experts":     {Kernel: "rbf", Mean: "zero", Experts: "kmeans:2"},
		"because the model transforms its target": {Kernel: "rbf", Mean: "zero", TargetTransform: "log"},
	} {
		_, out := outcome(t, table(60), o)
		_, html := written(t, subjectOf(t, out))
		testcheck.Words(t, html, want)
		if strings.Contains(html, "application/json") {
			t.Errorf("%s, but there are controls", want)
		}
	}
}

// TestSeries checks the pictures of a model of one time, and that others have none.
func TestSeries(t *testing.T) {
	d := problem.Data{N: 240, D: 1, TargetName: "y", FeatureNames: []string{"day"}}
	d.Encoding = &feature.Encoding{Columns: []feature.Coding{{Name: "day", Kind: feature.Date, Unit: feature.Days, Origin: "2024-01-01"}}}
	for i := range d.N {
		d.X, d.Y = append(d.X, float64(i)), append(d.Y, math.Sin(float64(i)/9))
	}
	_, out := outcome(t, d, problem.Options{Kernel: "matern52", Mean: "zero", Settings: evaluations(20)})
	p, html := written(t, subjectOf(t, out))
	if got := pictures(p)["Series and forecast"]; got != 3 {
		t.Errorf("%d pictures", got)
	}
	// 239 days and a fifth of them beyond the first of January.
	testcheck.Words(t, html, "20 % of the range of day beyond the last training row", "its forecast: at 2024-10-13", "the lines that stand out are harmonics of 52.179 days", "The last 100 training rows")
	selfContained(t, html)
	s := &series{testcheck.Get(newSubject(subjectOf(t, out)))(t)}
	s.columns = testcheck.Get(findColumns(t.Context(), s.subject))(t)
	parts := testcheck.Get(s.forecast(t.Context(), s.time()))(t)
	at := parts[0].at.Values
	want := testcheck.Get(out.Posterior().Predict(t.Context(), []float64{at[399]}, 1))(t)
	testcheck.Within(t, parts[0].predictions[0].Mean[399], want.Mean[0], 1e-12, "forecast")
	testcheck.Within(t, parts[0].predictions[0].Lower95[399], want.Lower95[0], 1e-12, "its interval")
	_, out = outcome(t, table(60), problem.Options{Kernel: "rbf", Mean: "zero", Settings: evaluations(2)})
	p, _ = written(t, subjectOf(t, out))
	if got := pictures(p)["Series and forecast"]; got != 0 {
		t.Errorf("%d pictures of a table of two columns", got)
	}
}

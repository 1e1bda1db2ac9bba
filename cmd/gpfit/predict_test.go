package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

// TestPredictPieces predicts more rows than gpfit reads at a time, and compares every
// digit with a prediction of all rows at once: on standard output, in a file and as JSON.
func TestPredictPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("predicts for 20,000 rows")
	}
	t.Parallel()
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	call := func(args ...string) string {
		t.Helper()
		return mustLine(t, append(args, "--quiet", "--device", "cpu")...)
	}
	call("fit", "../../examples/co2.csv", "--kernel", "rbf + linear(dims=year)", "--posterior", "none", "--subsample", "30", "--max-evals", "3", "--out", model)

	const n = 2*dataset.Piece + 1234
	var text strings.Builder
	text.WriteString("season_cos,year,season_sin\n")
	x := make([]float64, 0, 3*n)
	for i := range n {
		year := 1958 + float64(i)/256
		sin, cos := math.Sincos(2 * math.Pi * year)
		x = append(x, year, cos, sin)
		fmt.Fprintf(&text, "%v,%v,%v\n", cos, year, sin)
	}
	data := write(t, dir, "rows.csv", text.String())

	m := testcheck.Get(gp.Load(model))(t)
	b := testcheck.Get(cpu.New(device.Options{}))(t)
	defer b.Close()
	posterior := testcheck.Get(m.Condition(context.Background(), b))(t)
	defer posterior.Close()
	predict := columns.Predict{Probabilities: []float64{0.9}, Terms: true, Gradient: true}
	p := testcheck.Get(predict.Parts(context.Background(), posterior, dataset.Rows{X: x, N: n}))(t)
	for _, asJSON := range []bool{false, true} {
		var want strings.Builder
		sheet := columns.NewTable(columns.NewCSV(&want))
		if asJSON {
			info := predict.Info()
			info["reading"] = feature.Reading{Rows: n, Columns: 3}
			sheet = columns.NewSheet(&want, info)
		}
		testcheck.Do(t, errors.Join(sheet.Add(p), sheet.End()))
		args := []string{"predict", model, data, "--interval", "0.9", "--terms", "--gradient"}
		if asJSON {
			args = append(args, "--json")
		}
		if got := call(args...); got != want.String() {
			t.Errorf("JSON %v: predictions in pieces differ from those at once", asJSON)
		}
		out := filepath.Join(dir, map[bool]string{false: "out.csv", true: "out.json"}[asJSON])
		call(append(args, "--out", out, "--force")...)
		if got, err := os.ReadFile(out); err != nil || string(got) != want.String() {
			t.Errorf("JSON %v: the file differs (%v)", asJSON, err)
		}
	}

	// An error far down leaves no file.
	write(t, dir, "rows.csv", text.String()+"1,x,2\n")
	out := filepath.Join(dir, "none.csv")
	ends(t, exit.Data, fmt.Sprintf(`rows.csv:%d: column 2 ("year"): not a number: "x"`, n+2), "predict", model, data, "--out", out)
	if entries, err := filepath.Glob(filepath.Join(dir, "*none*")); err != nil || len(entries) > 0 {
		t.Errorf("files left: %q, %v", entries, err)
	}
}

// TestPredictWaitingPipe tests that gpfit writes the predictions of a piece although the
// next one does not arrive, and that it then ends at the end of the input, at a broken row
// or when it is interrupted.
func TestPredictWaitingPipe(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	mustLine(t, "fit", "../../examples/co2.csv", "--kernel", "rbf", "--subsample", "100", "--max-evals", "3", "--device", "cpu", "--out", model)
	var piece bytes.Buffer
	piece.WriteString("season_cos,year,season_sin,note\n")
	// The long notes fill the buffers of the reader.
	const n = 2 * dataset.Piece
	for i := range n {
		fmt.Fprintf(&piece, "0.5,%d,0.25,%0400d\n", 1958+i%60, i)
	}
	for what, c := range map[string]struct {
		end         func(in *io.PipeWriter, cancel func())
		code, lines int
		message     string
	}{
		"end":       {func(in *io.PipeWriter, _ func()) { in.Close() }, 0, 1 + n, ""},
		"more":      {func(in *io.PipeWriter, _ func()) { in.Write([]byte("1,2000,0,a\n")); in.Close() }, 0, 2 + n, ""},
		"broken":    {func(in *io.PipeWriter, _ func()) { in.Write([]byte("1,x,0,a\n")); in.Close() }, exit.Data, 0, `not a number: "x"`},
		"interrupt": {func(_ *io.PipeWriter, cancel func()) { cancel() }, 130, 0, ""},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			stdin, in := io.Pipe()
			out, stdout := io.Pipe()
			var stderr strings.Builder
			done := make(chan int, 1)
			go func() {
				code := run(ctx, []string{"predict", model, "-", "--mean-only", "--device", "cpu"}, stdin, stdout, &stderr)
				stdout.Close()
				done <- code
			}()
			written := make(chan struct{})
			go func() {
				in.Write(piece.Bytes())
				close(written)
			}()
			begin := make([]byte, 1000)
			testcheck.Get(io.ReadFull(out, begin))(t)
			go func() {
				<-written
				c.end(in, cancel)
			}()
			rest := testcheck.Get(io.ReadAll(out))(t)
			select {
			case code := <-done:
				if code != c.code || !strings.Contains(stderr.String(), c.message) {
					t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.message, stderr.String())
				}
			case <-time.After(time.Minute):
				t.Fatal("gpfit does not end")
			}
			if lines := strings.Count(string(begin)+string(rest), "\n"); c.lines > 0 && lines != c.lines {
				t.Errorf("%d lines, want %d", lines, c.lines)
			}
		})
	}
}

// TestScoreWithDraws compares the scores of predictions with draws of the parameters,
// and the scores of held-out rows by the fit, with counts of the rows inside the
// printed intervals and with sums over the densities of the draws.
func TestScoreWithDraws(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	call := func(into any, args ...string) {
		t.Helper()
		decodeLine(t, into, append(args, "--quiet", "--device", "cpu", "--json")...)
	}
	// So few rows leave the parameters uncertain.
	const n, trained = 300, 9
	rng := rand.New(rand.NewPCG(7, 8))
	table, x, y := "x,y,held\n", make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = 10*rng.Float64(), rng.NormFloat64()
		y[i] = math.Sin(x[i]) + 0.5*y[i]
		held := 1
		if i < trained {
			held = 0
		}
		table += fmt.Sprintf("%v,%v,%d\n", x[i], y[i], held)
	}
	data := write(t, dir, "t.csv", table)
	var report summary.Report
	call(&report, "fit", data, "--features", "x", "--target", "y", "--split-mask", data+":held", "--kernel", "rbf", "--posterior", "laplace", "--posterior-draws", "30", "--out", model) // 4·30 draws

	type prediction struct {
		Mean, Std, Lower95, Upper95, Lower50, Upper50 []float64
		Scores                                        []columns.Score
	}
	inside := func(lower, upper []float64, from int) float64 {
		count := 0
		for i := from; i < n; i++ {
			if lower[i] <= y[i] && y[i] <= upper[i] {
				count++
			}
		}
		return float64(count) / float64(n-from)
	}
	var mixed prediction
	call(&mixed, "predict", model, data, "--score", "--interval", "0.95,0.5", "--posterior-draws", "120")
	s := mixed.Scores[0]
	if want := map[string]float64{"95": inside(mixed.Lower95, mixed.Upper95, 0), "50": inside(mixed.Lower50, mixed.Upper50, 0)}; !maps.Equal(s.Coverage, want) {
		t.Errorf("coverage %v, inside the printed intervals %v", s.Coverage, want)
	}
	if want := mixtureNLPD(t, model, x, y); math.Abs(*s.NLPD-want) > 1e-12 {
		t.Errorf("NLPD %v, of the mixture %v", *s.NLPD, want)
	}
	normal := 0.0
	for i := range y {
		if math.Abs(y[i]-mixed.Mean[i]) <= 1.959963984540054*mixed.Std[i] {
			normal++
		}
	}
	if normal/n == s.Coverage["95"] {
		t.Error("a normal distribution with the same moments covers as many rows: the test cannot tell")
	}

	// Held-out scores belong to the same draws as predictions, to the bit.
	var usual prediction
	call(&usual, "predict", model, data)
	if want := inside(usual.Lower95, usual.Upper95, trained); report.Test.Coverage95 != want || report.Test.N != n-trained {
		t.Errorf("coverage %v of %d held-out rows, inside the printed interval %v", report.Test.Coverage95, report.Test.N, want)
	}
	lines := strings.SplitAfter(table, "\n")
	rest := write(t, dir, "rest.csv", lines[0]+strings.Join(lines[1+trained:], ""))
	call(&usual, "predict", model, rest, "--score")
	if s := usual.Scores[0]; *s.NLPD != float64(report.Test.NLPD) || s.RMSE != report.Test.RMSE {
		t.Errorf("NLPD %v and RMSE %v, in the report of the fit %v and %v", *s.NLPD, s.RMSE, float64(report.Test.NLPD), report.Test.RMSE)
	}
}

// mixtureNLPD returns −Σ log(mean density over the draws)/n, from the posterior of each draw alone.
func mixtureNLPD(t *testing.T, path string, x, y []float64) float64 {
	t.Helper()
	m := testcheck.Get(gp.Load(path))(t)
	b := testcheck.Get(cpu.New(device.Options{}))(t)
	defer b.Close()
	density, all := make([]float64, len(y)), *m.Draws
	for k := range all.Theta {
		one := all
		one.Theta, one.Noise = all.Theta[k:k+1], all.Noise[k:k+1]
		if all.Coefficients != nil {
			one.Coefficients = all.Coefficients[k : k+1]
		}
		m.Draws = &one
		mixture := testcheck.Get(gp.NewMixture(context.Background(), m, b, 0))(t)
		p := testcheck.Get(mixture.Predict(context.Background(), x, len(y), gp.RowNoise{}))(t)
		for i := range y {
			z := (y[i] - p[0].Mean[i]) / p[0].Std[i]
			density[i] += math.Exp(-z*z/2) / (p[0].Std[i] * math.Sqrt(2*math.Pi)) / float64(len(all.Theta))
		}
		mixture.Close()
	}
	nlpd := 0.0
	for _, p := range density {
		nlpd -= math.Log(p) / float64(len(y))
	}
	return nlpd
}

// TestPredictTargets predicts two targets, each of which has the predictions of a model of
// that target alone with the same parameters, up to rounding.
func TestPredictTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "x,a,b\n"
	for i := range 30 {
		x := float64(i) / 7
		text += fmt.Sprintf("%.4f,%.4f,%.4f\n", x, math.Sin(2*x), 3+20*math.Cos(3*x)+x)
	}
	data := write(t, dir, "rows.csv", text)
	predict := func(targets string) (lines [][]string) {
		model := filepath.Join(dir, targets+".gpfit")
		mustLine(t, "fit", data, "--target", targets, "--features", "x", "--kernel", "rbf + periodic", "--max-evals", "1", "--fix", "k1.lengthscale=0.5", "--fix", "k1.signal_variance=0.5", "--fix", "k2.lengthscale=0.5", "--fix", "k2.period=0.5", "--fix", "k2.signal_variance=0.5", "--fix", "noise_variance=0.5", "--out", model, "--quiet")
		text := mustLine(t, "predict", model, data, "--interval", "0.9", "--terms", "--gradient", "--score", "--quiet")
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Split(strings.TrimSpace(line), ","))
		}
		return lines
	}
	both, a, b := predict("a,b"), predict("a"), predict("b")
	if len(both) < 31 || len(a) != len(both) || len(b) != len(both) {
		t.Fatalf("%d, %d and %d lines", len(both), len(a), len(b))
	}
	for i, line := range both {
		for k, want := range slices.Concat(a[i], b[i]) {
			if i == 0 {
				want = map[bool]string{true: "a.", false: "b."}[k < len(a[i])] + want
			}
			x, _ := strconv.ParseFloat(line[k], 64)
			y, err := strconv.ParseFloat(want, 64)
			if line[k] != want && (err != nil || !(math.Abs(x-y) <= 1e-12*(20+math.Abs(y)))) {
				t.Errorf("line %d, column %d: %s, want %s", i, k, line[k], want)
			}
		}
	}
}

// TestUpdateScores checks that gpfit update prints the scores of gpfit predict --score with the model before, and says of a
// robust model which rows do not count.
func TestUpdateScores(t *testing.T) {
	dir, rng, rows := t.TempDir(), rand.New(rand.NewPCG(4, 4)), []string{"x,y"}
	for i := range 110 {
		x, y := float64(i)/8, 30+2*math.Sin(float64(i)/8)+float64(i)/20+0.2*rng.NormFloat64()
		if i == 17 || i == 60 || i == 101 {
			y += 9
		}
		rows = append(rows, fmt.Sprintf("%v,%v", x, y))
	}
	known, news, model := filepath.Join(dir, "known.csv"), filepath.Join(dir, "new.csv"), filepath.Join(dir, "m.gpfit")
	for path, some := range map[string][]string{known: rows[:91], news: slices.Concat(rows[:1], rows[91:])} {
		testcheck.Do(t, os.WriteFile(path, []byte(strings.Join(some, "\n")), 0o600))
	}
	for _, options := range []string{"--mean linear --posterior none", "--target-transform log --robust --posterior none", "--subsample 30 --posterior laplace --posterior-draws 20"} {
		mustLine(t, append([]string{"fit", known, "--kernel", "rbf", "--out", model, "--force"}, strings.Fields(options)...)...)
		var after summary.UpdateReport
		decodeLine(t, &after, "update", model, news, "--out", filepath.Join(dir, "after.gpfit"), "--force", "--json")
		var before struct{ Scores []columns.Score }
		decodeLine(t, &before, "predict", model, news, "--out", filepath.Join(dir, "p.csv"), "--force", "--score", "--json")
		got, want := after.NewRows[0], before.Scores[0]
		testcheck.Near(t, options, []float64{got.RMSE, got.NLPD, got.Coverage95}, []float64{want.RMSE, *want.NLPD, want.Coverage["95"]}, 1e-9, 0)
		if !strings.Contains(options, "robust") {
			continue
		}
		if got.Outlying != 1 || got.PValue < 1e-3 || len(after.Advice) > 0 {
			t.Errorf("one outlying row: %+v, %q", got, after.Advice)
		}
		testcheck.Words(t, after.Text(), "19 expected", "1   as far out as outlying training rows", "the other new rows are what the model expects")
	}
}

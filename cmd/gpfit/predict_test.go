package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/gp"
	"gpfit/internal/columns"
	"gpfit/internal/must"
	"gpfit/internal/rows"
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
	call("fit", "../../examples/co2.csv", "--max-evals", "3", "--out", model)

	const n = 2*rows.Piece + 1234
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

	m := must.Get(gp.Load(model))(t)
	b := must.Get(cpu.New(device.Options{}))(t)
	defer b.Close()
	posterior := must.Get(m.Condition(context.Background(), b))(t)
	defer posterior.Close()
	predict := columns.Predict{Probabilities: []float64{0.9}, Terms: true, Gradient: true}
	p := must.Get(predict.Parts(context.Background(), posterior, rows.Rows{X: x, N: n}))(t)
	for _, asJSON := range []bool{false, true} {
		var want strings.Builder
		sheet := columns.NewSheet(&want, asJSON, predict.Info())
		must.Do(t, errors.Join(sheet.Add(p), sheet.End()))
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
	code, _, stderr := runLine(t, "predict", model, data, "--out", out)
	if want := fmt.Sprintf(`rows.csv:%d: column 2 ("year"): not a number: "x"`, n+2); code != exit.Data || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want %q:\n%s", code, want, stderr)
	}
	if entries, err := filepath.Glob(filepath.Join(dir, "*none*")); err != nil || len(entries) > 0 {
		t.Errorf("files left: %q, %v", entries, err)
	}
}

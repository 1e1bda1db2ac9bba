package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/show/effect"
)

// TestOutside checks which rows predict names as far outside: beyond the width of a range, and closer where a linear mean
// goes on and the covariance is the prior's. Rows in pieces have the numbers of the table.
func TestOutside(t *testing.T) {
	dir, table := t.TempDir(), "x,c,y\n"
	for i := range 40 {
		x := float64(i) / 4
		table += fmt.Sprintf("%v,%d,%v\n", x, 5+i%2, 2*x+math.Sin(3*x))
	}
	data := write(t, dir, "t.csv", table)
	news := write(t, dir, "new.csv", "x,c\n5,5\n12,5\nNA,5\n9.9,6\n25,5\n-11,5\n1,8\n40,5\n")
	seen := [2]float64{0, 9.75}
	for mean, want := range map[string][]outsideRow{
		"zero":   {{Row: 4, Column: "x", Value: 25, Seen: seen}, {Row: 5, Column: "x", Value: -11, Seen: seen}, {Row: 6, Column: "c", Value: 8, Seen: [2]float64{5, 6}}, {Row: 7, Column: "x", Value: 40, Seen: seen}},
		"linear": {{Row: 1, Column: "x", Value: 12, Seen: seen}, {Row: 4, Column: "x", Value: 25, Seen: seen}, {Row: 5, Column: "x", Value: -11, Seen: seen}, {Row: 6, Column: "c", Value: 8, Seen: [2]float64{5, 6}}, {Row: 7, Column: "x", Value: 40, Seen: seen}},
	} {
		model := filepath.Join(dir, mean+".gpfit")
		mustLine(t, "fit", data, "--target", "y", "--kernel", "rbf", "--mean", mean, "--fix", "lengthscale=0.1", "--fix", "noise_variance=0.01", "--out", model, "--quiet")
		var got struct{ Outside outside }
		decodeLine(t, &got, "predict", model, news, "--missing", "blank", "--json", "--quiet")
		if got.Outside.N != len(want) || len(got.Outside.Rows) != len(want) {
			t.Fatalf("%s: %+v", mean, got.Outside)
		}
		for k, row := range got.Outside.Rows {
			far := max(row.Seen[0]-row.Value, row.Value-row.Seen[1]) / (row.Seen[1] - row.Seen[0])
			if row.Row != want[k].Row || row.Column != want[k].Column || row.Value != want[k].Value || row.Seen != want[k].Seen || math.Abs(*row.Widths-far) > 1e-12 {
				t.Errorf("%s: row %+v, want %+v", mean, row, want[k])
			}
		}
	}
	_, _, messages := runLine(t, "predict", filepath.Join(dir, "zero.gpfit"), news, "--missing", "blank", "--out", filepath.Join(dir, "p.csv"))
	testcheck.Words(t, messages, "4 rows are far outside of the training rows", "row 5 (from 1) with x = 25, seen 0 to 9.75, row 6 (from 1) with x = -11", "row 7 (from 1) with c = 8, seen 5 to 6, …")
	if strings.Count(messages, "outside") != 1 {
		t.Errorf("messages %s", messages)
	}
	_, _, messages = runLine(t, "predict", filepath.Join(dir, "linear.gpfit"), news, "--missing", "blank", "--out", filepath.Join(dir, "q.csv"))
	testcheck.Words(t, messages, "5 rows are far outside of the training rows, or where only the mean function goes on: row 2 (from 1) with x = 12, seen 0 to 9.75, ")
	if far := (&outside{model: new(gp.Model)}).widths(&effect.Variable{Low: 5, High: 5}, 6); !math.IsInf(far, 1) {
		t.Errorf("%v widths outside of a constant column", far)
	}
}

// TestMedians checks that predict gives the median where the tail of a transformed target rules the expected value, and
// says so: the logarithm is uncertain by the standard deviation 5 away from the rows, and exp(5²/2) is 3·10⁵.
func TestMedians(t *testing.T) {
	dir, table := t.TempDir(), "x,y\n"
	for i := range 30 {
		table += fmt.Sprintf("%d,%v\n", i, math.Exp(3*math.Sin(float64(i))))
	}
	data, news, model := write(t, dir, "t.csv", table), write(t, dir, "new.csv", "x\n10\n45\n"), filepath.Join(dir, "m.gpfit")
	mustLine(t, "fit", data, "--target", "y", "--kernel", "rbf", "--mean", "zero", "--target-transform", "log", "--standardize", "none", "--fix", "signal_variance=25", "--fix", "lengthscale=1", "--fix", "noise_variance=0.01", "--posterior", "none", "--out", model, "--quiet")
	var got struct {
		Mean, Upper95 []float64
		Medians       []int
	}
	decodeLine(t, &got, "predict", model, news, "--json", "--quiet")
	_, _, messages := runLine(t, "predict", model, news)
	testcheck.Words(t, messages, "the mean of 1 row is the median, because the tail of the transformed target rules the expected value: row 2 (from 1)")
	scaling := testcheck.Get(gp.Load(model))(t).Scaling
	median := scaling.Transform.Inverse(scaling.YMean) // the mean function is zero, and the covariance with the rows too
	if !slices.Equal(got.Medians, []int{1}) || math.Abs(got.Mean[1]/median-1) > 1e-9 {
		t.Errorf("medians %v, mean %v, median %v", got.Medians, got.Mean, median)
	}
	if alone := mustLine(t, "predict", model, news, "--mean-only", "--json", "--quiet"); !strings.Contains(alone, fmt.Sprint(got.Mean[1])) {
		t.Errorf("%s, want %v", alone, got.Mean)
	}
}

package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gpfit/device/devicetest/precise"
	"gpfit/internal/testcheck"
)

// The bounds on differences from formulas of textbooks, and on violations of the conditions of the lasso.
const (
	fromTextbook = 1e-8
	conditions   = 1e-10
)

// gallery returns a table of the gallery: its path, its inputs and its targets.
func gallery(t *testing.T, name string) (path string, x [][]float64, y []float64) {
	t.Helper()
	path = filepath.Join("..", "..", "docs", "gallery", "data", name)
	rows := testcheck.Get(csv.NewReader(strings.NewReader(string(testcheck.Get(os.ReadFile(path))(t)))).ReadAll())(t)
	for _, row := range rows[1:] {
		var numbers []float64
		for _, cell := range row {
			numbers = append(numbers, testcheck.Get(strconv.ParseFloat(cell, 64))(t))
		}
		x, y = append(x, numbers[:len(numbers)-1]), append(y, numbers[len(numbers)-1])
	}
	return path, x, y
}

// pathOutput is the JSON that gpfit path prints.
type pathOutput struct {
	Lambdas      []float64
	Weights      [][]float64
	Standardized [][]float64 `json:"weights_standardized"`
	Intercepts   []float64
	Freedom      []float64  `json:"degrees_of_freedom"`
	Training     []*float64 `json:"training_rmse"`
	Validation   []*float64 `json:"validation_rmse"`
	Best         *int
}

// TestRidgePathTextbook compares weights, intercepts, the trace of the hat matrix and the errors of gpfit path with normal equations
// in 400 bits (ESL, eq. 3.41, 3.50 and 7.64 by leaving rows out), in the units of the table and in standard deviations.
func TestRidgePathTextbook(t *testing.T) {
	path, x, y := gallery(t, "columns.csv")
	var got pathOutput
	decodeLine(t, &got, "path", path, "--penalty", "ridge", "--lambdas", "1000,17.5,0.3,0", "--standardize", "none", "--json")
	n, d := len(y), len(x[0])
	for i, lambda := range got.Lambdas {
		penalty := append([]float64{0}, testcheck.Slice(d, func(int) float64 { return lambda })...)
		rows := testcheck.Slice(n, func(i int) []float64 { return append([]float64{1}, x[i]...) })
		want := precise.Ridge(rows, penalty, y)
		testcheck.Near(t, "weights", got.Weights[i], want[1:], fromTextbook, fromTextbook)
		testcheck.Within(t, got.Intercepts[i], want[0], fromTextbook, "intercept for λ = %v", lambda)
		training, left, trace := 0.0, 0.0, 0.0
		for k := range y {
			miss := y[k] - dot(want, rows[k])
			training += miss * miss / float64(n)
			unit := testcheck.Slice(n, func(i int) float64 { return map[bool]float64{true: 1}[i == k] })
			leverage := dot(precise.Ridge(rows, penalty, unit), rows[k])
			trace += leverage
			left += miss / (1 - leverage) * miss / (1 - leverage) / float64(n)
		}
		testcheck.Within(t, *got.Training[i], math.Sqrt(training), fromTextbook, "training RMSE for λ = %v", lambda)
		testcheck.Within(t, *got.Validation[i], math.Sqrt(left), fromTextbook, "leave-one-out RMSE for λ = %v", lambda)
		testcheck.Within(t, got.Freedom[i], trace, fromTextbook, "degrees of freedom for λ = %v", lambda)
		sd := func(of func(i int) float64) float64 {
			mean, sum := 0.0, 0.0
			for i := range n {
				mean += of(i) / float64(n)
			}
			for i := range n {
				sum += (of(i) - mean) * (of(i) - mean) / float64(n)
			}
			return math.Sqrt(sum)
		}
		for c := range d {
			ratio := sd(func(i int) float64 { return x[i][c] }) / sd(func(i int) float64 { return y[i] })
			testcheck.Within(t, got.Standardized[i][c], want[1+c]*ratio, fromTextbook, "standardized weight %d for λ = %v", c, lambda)
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// TestLassoPathConditions checks the conditions of the minimum (ESL, exercise 3.27) along the default path and at given
// penalties, from the printed weights and the table alone: for scaled columns and in the units of the table.
func TestLassoPathConditions(t *testing.T) {
	for _, name := range []string{"columns.csv", "wide.csv"} {
		path, x, y := gallery(t, name)
		for _, more := range [][]string{nil, {"--lambdas", "0.5,0.11,0.01"}, {"--no-intercept"}} {
			var got pathOutput
			decodeLine(t, &got, append([]string{"path", path, "--penalty", "lasso", "--standardize", "none", "--json"}, more...)...)
			for i, lambda := range got.Lambdas {
				gradient, sum := make([]float64, len(x[0])), 0.0
				for k := range y {
					miss := y[k] - got.Intercepts[i] - dot(got.Weights[i], x[k])
					sum += miss / float64(len(y))
					for c, v := range x[k] {
						gradient[c] += v * miss / float64(len(y))
					}
				}
				scale := got.Lambdas[0]
				if len(more) == 1 && got.Intercepts[i] != 0 || len(more) != 1 && math.Abs(sum) > conditions*scale {
					t.Errorf("%s, λ = %v: intercept %v, mean residual %v", name, lambda, got.Intercepts[i], sum)
				}
				for c, w := range got.Weights[i] {
					off := math.Abs(gradient[c]) - lambda
					if w != 0 {
						off = math.Abs(gradient[c] - math.Copysign(lambda, w))
					}
					if off > conditions*max(1, scale) {
						t.Errorf("%s, λ = %v: weight %d = %v violates its condition by %v", name, lambda, c, w, off)
					}
				}
			}
		}
	}
}

// TestSplineTextbook compares predictions of the files that gpfit compare --models writes with the normal equations of each
// kind of spline in 400 bits, with knots and a penalty in the units of the table.
func TestSplineTextbook(t *testing.T) {
	path, x, y := gallery(t, "wave.csv")
	knots := []float64{0.5, 1, 1.75, 2.5, 4, 5.25, 6, 7.5, 9}
	const lambda = 0.35
	at := []float64{-1, 0, 0.7, 2.5, 3.3, 8, 11}
	text := "x\n"
	for _, v := range at {
		text += fmt.Sprintln(v)
	}
	table := write(t, t.TempDir(), "at.csv", text)
	for kind, line := range map[string]float64{"linear": 0, "ridge": lambda, "hinges": math.NaN()} {
		basis := func(v float64) []float64 {
			out := []float64{1}
			if !math.IsNaN(line) {
				out = append(out, v)
			}
			for _, knot := range knots {
				out = append(out, max(0, v-knot))
			}
			return out
		}
		penalty := []float64{0}
		if !math.IsNaN(line) {
			penalty = append(penalty, line)
		}
		for range knots {
			penalty = append(penalty, lambda)
		}
		var rows [][]float64
		for _, row := range x {
			rows = append(rows, basis(row[0]))
		}
		want := precise.Ridge(rows, penalty, y)
		dir := filepath.Join(t.TempDir(), "models")
		mustLine(t, "compare", path, "--methods", "spline", "--spline", kind, "--knots", "0.5,1,1.75,2.5,4,5.25,6,7.5,9", "--lambda", fmt.Sprint("spline=", lambda),
			"--standardize", "none", "--folds", "3", "--models", dir)
		var got struct{ Mean []float64 }
		decodeLine(t, &got, "predict", filepath.Join(dir, "spline.json"), table, "--json")
		for i, v := range at {
			testcheck.Within(t, got.Mean[i], dot(want, basis(v)), fromTextbook, "%s spline at %v", kind, v)
		}
	}
}

package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gpfit/fit/problem"
)

// pair is a table and a kernel.
type pair struct {
	table, kernel string
	rows          int
	// held marks the pairs on which no choice of gpfit's was made.
	held bool
	make func(rng *rand.Rand, n int) (x [][]float64, y []float64)
}

func (p pair) name() string { return fmt.Sprintf("%s-%d %s", p.table, p.rows, p.kernel) }

// pairs lists the suite. The first table of each kind served to choose gpfit's
// constants; the held ones only to measure.
func pairs() []pair {
	var out []pair
	add := func(held bool, table string, rows int, make func(*rand.Rand, int) ([][]float64, []float64), kernels ...string) {
		for _, k := range kernels {
			out = append(out, pair{table, k, rows, held, make})
		}
	}
	add(false, "repeats", 400, repeats(3, 0.02), "rbf(ard)", "matern52(ard)")
	add(false, "concrete", 350, nil, "rbf(ard)", "matern32(ard)")
	add(false, "wiggle", 300, wiggle, "rbf", "rbf + rbf")
	add(false, "season", 300, season, "rbf + periodic", "rbf + periodic*rbf")
	add(false, "outliers", 300, outliers, "rbf(ard)", "matern32")
	add(false, "yacht", 308, nil, "rbf(ard)", "matern52(ard)")
	add(true, "near", 360, near, "rbf(ard)", "matern52(ard)")
	add(true, "airfoil", 400, nil, "rbf(ard)", "matern32(ard)")
	add(true, "steps", 300, steps, "rbf", "matern52")
	add(false, "cycles", 320, cycles, "rbf(ard) + periodic", "periodic(dims=0)*rbf(ard)")
	add(true, "idle", 300, idle, "rbf(ard)", "rq(ard)")
	add(true, "energy", 384, nil, "rbf(ard)", "matern52(ard)")
	add(true, "twice", 300, repeats(2, 0.15), "rbf(ard)", "matern32(ard)")
	add(true, "kin40k", 500, nil, "rbf(ard)", "matern32")
	add(true, "elevators", 500, nil, "rbf(ard)", "rbf")
	add(false, "mixture", 1000, mixture, "rbf(ard)", "rbf + matern12")
	add(true, "friedman", 300, friedman, "rbf(ard)", "matern52(ard)")
	add(true, "clusters", 450, clusters, "matern32", "rbf + matern12")
	add(true, "chirp", 300, chirp, "rbf", "rq")
	add(true, "levels", 400, levels, "rbf(ard)", "matern52(ard)")
	add(true, "correlated", 350, correlated, "rbf(ard)", "linear + rbf(ard)")
	add(false, "tides", 350, tides, "periodic + rbf", "periodic + periodic + rbf")
	return out
}

// data returns the table of a pair. Real tables are read from the folder and thinned
// with a fixed seed.
func (p pair) data(folder string) (problem.Data, error) {
	seed := uint64(0)
	for _, c := range p.table {
		seed = seed*131 + uint64(c)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	var x [][]float64
	var y []float64
	if p.make != nil {
		x, y = p.make(rng, p.rows)
	} else {
		var err error
		if x, y, err = thinned(filepath.Join(folder, p.table, "data.csv.gz"), rng, p.rows); err != nil {
			return problem.Data{}, err
		}
	}
	d := problem.Data{N: len(y), D: len(x[0]), X: slices.Concat(x...), Y: y}
	return d, nil
}

// thinned reads n random rows of a table without a header whose last column is the
// target.
func thinned(path string, rng *rand.Rand, n int) (x [][]float64, y []float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	order := rng.Perm(len(rows))[:min(n, len(rows))]
	slices.Sort(order)
	for _, i := range order {
		var row []float64
		for _, text := range rows[i] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("%s, row %d: %w", path, i+1, err)
			}
			row = append(row, v)
		}
		last := len(row) - 1
		x, y = append(x, row[:last]), append(y, row[last])
	}
	return x, y, nil
}

// repeats has every point several times: a rough function with little noise, or a
// smooth one with much, explain it, and only repeated rows decide.
func repeats(times int, noise float64) func(*rand.Rand, int) ([][]float64, []float64) {
	return func(rng *rand.Rand, n int) (x [][]float64, y []float64) {
		var at []float64
		for i := range n {
			if i%times == 0 {
				at = []float64{rng.Float64(), rng.Float64(), rng.Float64()}
			}
			f := math.Sin(25*at[0]) + math.Cos(20*at[1]) + at[2]
			x, y = append(x, at), append(y, f+noise*rng.NormFloat64())
		}
		return x, y
	}
}

// near has clusters of nearly the same point, and almost no noise.
func near(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	var centre []float64
	for i := range n {
		if i%4 == 0 {
			centre = []float64{4 * rng.NormFloat64(), 4 * rng.NormFloat64()}
		}
		at := []float64{centre[0] + 1e-3*rng.NormFloat64(), centre[1] + 1e-3*rng.NormFloat64()}
		f := math.Sin(3*at[0]) * math.Cos(2*at[1])
		x, y = append(x, at), append(y, f+1e-3*rng.NormFloat64())
	}
	return x, y
}

// wiggle has a slow trend and a fast component of little size, of which each alone,
// or both, can count as noise.
func wiggle(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := 10 * rng.Float64()
		y = append(y, math.Sin(at)+0.3*math.Sin(17*at)+0.02*rng.NormFloat64())
		x = append(x, []float64{at})
	}
	return x, y
}

// season is a trend with a cycle of a year over 15 years.
func season(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for i := range n {
		at := 15 * float64(i) / float64(n)
		y = append(y, 0.1*at*at/15+math.Sin(2*math.Pi*at)+0.4*math.Cos(4*math.Pi*at)+0.2*rng.NormFloat64())
		x = append(x, []float64{at})
	}
	return x, y
}

// outliers has errors of which every fifteenth is 20 times as large.
func outliers(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := []float64{rng.NormFloat64(), rng.NormFloat64()}
		e := 0.05 * rng.NormFloat64()
		if rng.IntN(15) == 0 {
			e *= 20
		}
		y = append(y, math.Sin(2*at[0])+0.5*at[1]+e)
		x = append(x, at)
	}
	return x, y
}

// steps has jumps: short lengthscales and little noise compete with long ones.
func steps(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := 8 * rng.Float64()
		y = append(y, math.Floor(at)*math.Mod(math.Floor(at), 3)+0.05*rng.NormFloat64())
		x = append(x, []float64{at})
	}
	return x, y
}

// cycles has a cycle in its first column and a surface over the others.
func cycles(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := []float64{40 * rng.Float64(), rng.NormFloat64(), rng.NormFloat64()}
		y = append(y, (1+0.5*at[1])*math.Sin(2*math.Pi*at[0]/3.7)+math.Tanh(at[2])+0.1*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// idle has ten columns, of which seven have no effect.
func idle(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := make([]float64, 10)
		for c := range at {
			at[c] = rng.NormFloat64()
		}
		y = append(y, math.Sin(2*at[0])*at[1]+0.3*at[2]*at[2]+0.3*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// mixture has columns of different kinds, some rows twice, and noise of medium size.
func mixture(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for i := range n {
		at := []float64{rng.NormFloat64(), math.Exp(rng.NormFloat64()), float64(rng.IntN(4)), rng.Float64(), rng.Float64()}
		if i%5 == 4 {
			at = x[i-2]
		}
		y = append(y, math.Sin(3*at[0])+math.Log(at[1])+0.5*at[2]*at[3]+0.1*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gpfit/fit/problem"
)

// dataTable is a table of the suite.
type dataTable struct {
	// held marks the tables on which no choice of gpfit's was made.
	held  bool
	table string
	rows  int
	// row makes row i of n; it is nil for a real table.
	row     func(m *maker, i, n int) (x []float64, y float64)
	kernels [2]string
}

// sources lists the tables. The first table of each kind served to choose gpfit's constants;
// the held ones only to measure. The last six were made later, to measure choices; tides then
// served for one, too.
var sources = []dataTable{
	{false, "repeats", 400, repeats(3, 0.02), [2]string{"rbf(ard)", "matern52(ard)"}},
	{false, "concrete", 350, nil, [2]string{"rbf(ard)", "matern32(ard)"}},
	{false, "wiggle", 300, wiggle, [2]string{"rbf", "rbf + rbf"}},
	{false, "season", 300, season, [2]string{"rbf + periodic", "rbf + periodic*rbf"}},
	{false, "outliers", 300, outliers, [2]string{"rbf(ard)", "matern32"}},
	{false, "yacht", 308, nil, [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "near", 360, near, [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "airfoil", 400, nil, [2]string{"rbf(ard)", "matern32(ard)"}},
	{true, "steps", 300, steps, [2]string{"rbf", "matern52"}},
	{false, "cycles", 320, cycles, [2]string{"rbf(ard) + periodic", "periodic(dims=0)*rbf(ard)"}},
	{true, "idle", 300, idle, [2]string{"rbf(ard)", "rq(ard)"}},
	{true, "energy", 384, nil, [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "twice", 300, repeats(2, 0.15), [2]string{"rbf(ard)", "matern32(ard)"}},
	{true, "kin40k", 500, nil, [2]string{"rbf(ard)", "matern32"}},
	{true, "elevators", 500, nil, [2]string{"rbf(ard)", "rbf"}},
	{false, "mixture", 1000, mixture, [2]string{"rbf(ard)", "rbf + matern12"}},
	{true, "friedman", 300, friedman, [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "clusters", 450, clusters, [2]string{"matern32", "rbf + matern12"}},
	{true, "chirp", 300, chirp, [2]string{"rbf", "rq"}},
	{true, "levels", 400, levels, [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "correlated", 350, correlated, [2]string{"rbf(ard)", "linear + rbf(ard)"}},
	{false, "tides", 350, tides, [2]string{"periodic + rbf", "periodic + periodic + rbf"}},
}

// pair is a table and a kernel.
type pair struct {
	dataTable
	kernel string
}

func (p pair) name() string { return fmt.Sprintf("%s-%d %s", p.table, p.rows, p.kernel) }

// pairs lists the suite.
func pairs() (out []pair) {
	for _, s := range sources {
		out = append(out, pair{s, s.kernels[0]}, pair{s, s.kernels[1]})
	}
	return out
}

// data returns the table of a pair. Real tables are read from the folder and thinned
// with a fixed seed.
func (p pair) data(folder string) (problem.Data, error) {
	seed := uint64(0)
	for _, c := range p.table {
		seed = seed*131 + uint64(c)
	}
	m := maker{Rand: rand.New(rand.NewPCG(seed, 7))}
	var y []float64
	if p.row == nil {
		var err error
		if m.x, y, err = thinned(filepath.Join(folder, p.table, "data.csv.gz"), m.Rand, p.rows); err != nil {
			return problem.Data{}, err
		}
	} else {
		for i := range p.rows {
			x, v := p.row(&m, i, p.rows)
			m.x, y = append(m.x, x), append(y, v)
		}
	}
	return problem.Data{N: len(y), D: len(m.x[0]), X: slices.Concat(m.x...), Y: y}, nil
}

// thinned reads n random rows of a table without a header whose last column is the target.
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
		row := make([]float64, len(rows[i]))
		for c, text := range rows[i] {
			if row[c], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, nil, fmt.Errorf("%s, row %d: %w", path, i+1, err)
			}
		}
		last := len(row) - 1
		x, y = append(x, row[:last]), append(y, row[last])
	}
	return x, y, nil
}

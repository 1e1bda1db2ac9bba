package main

import (
	"bytes"
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

// dataTable is a table of the suite.
type dataTable struct {
	// held marks the tables on which no choice of gpfit's was made.
	held  bool
	table string
	rows  int
	// row is nil for a real table.
	row     rowMaker
	kernels [2]string
}

// sources lists the tables. The first table of each kind served to choose gpfit's constants;
// the held ones only to measure. The tables from mixture to tides were made later, to measure
// choices; tides then served for one, too. The tables after tides were made later still.
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
	{false, "ripple", 60, formula(times(12), 0.2, cycle(1.9, 0)), [2]string{"rbf + periodic", "linear + periodic"}},
	{true, "rise", 90, formula(times(20), 0.3, cycle(2.7, 0.2)), [2]string{"linear + periodic", "rbf + periodic"}},
	{false, "swelling", 120, formula(times(16), 0.1, swelling), [2]string{"periodic*rbf", "periodic*linear + rbf"}},
	{true, "beats", 150, formula(times(18), 0.2, beats), [2]string{"rbf + periodic", "periodic + periodic"}},
	{false, "harmonics", 108, formula(times(9), 0.15, harmonics), [2]string{"rbf + periodic", "rbf + periodic*rbf"}},
	{false, "tiny", 25, formula(uniform(1), 0.1, func(x []float64) float64 { return math.Sin(6 * x[0]) }), [2]string{"rbf", "matern32"}},
	{true, "few", 20, formula(normal(2), 0.1, hills), [2]string{"rbf(ard)", "rbf + rbf"}},
	{true, "concrete", 60, nil, [2]string{"rbf(ard)", "matern32(ard)"}},
	{false, "airfoil", 100, nil, [2]string{"rbf(ard)", "rbf(ard) + matern12"}},
	{true, "yacht", 100, nil, [2]string{"matern32(ard)", "rbf(ard)*linear"}},
	{false, "energy", 150, nil, [2]string{"rbf(ard)", "rq(ard)"}},
	{true, "kin40k", 120, nil, [2]string{"rbf(ard)", "matern52(ard)"}},
	{false, "bowl", 100, formula(normal(6), 0.2, bowl), [2]string{"rbf(ard)", "matern32(ard)"}},
	{true, "bowls", 200, formula(uniform(9), 0.1, bowl), [2]string{"rbf(ard)", "rbf(ard) + rbf(ard)"}},
	{false, "plane", 80, formula(normal(5), 0.3, plane), [2]string{"rbf(ard)", "linear + rbf(ard)"}},
	{true, "loud", 140, formula(normal(4), 1.5, hills), [2]string{"rbf(ard)", "matern52(ard)"}},
	{false, "exact", 70, formula(uniform(3), 0, bowl), [2]string{"rbf(ard)", "rbf"}},
	{true, "kinked", 300, formula(normal(3), 0.05, kinked), [2]string{"matern32(ard)", "rbf(ard) + matern12"}},
	{false, "skewed", 300, formula(skewed(4), 0.1, logs), [2]string{"rbf(ard)", "matern52(ard)"}},
	{true, "kinds", 320, formula(kinds, 0.2, shifted), [2]string{"rbf(ard)", "linear + rbf(ard)"}},
	{false, "copied", 300, formula(copied, 0.2, hills), [2]string{"rbf(ard)", "rq(ard)"}},
	{true, "again", 360, formula(again(4, normal(3)), 0.5, bowl), [2]string{"rbf(ard)", "rbf + rbf"}},
	{false, "rough", 400, formula(uniform(3), 0.1, rough), [2]string{"rbf(ard) + matern12", "rbf + matern12 + linear"}},
	{true, "gated", 350, formula(normal(4), 0.2, gated), [2]string{"rbf(ard)", "rbf(ard)*linear"}},
	{true, "weeks", 364, formula(times(364), 0.3, weeks), [2]string{"rbf + periodic", "rbf + periodic + periodic"}},
	{false, "elevators", 400, nil, [2]string{"matern52(ard)", "rbf(ard) + matern12"}},
	{true, "airfoil", 1000, nil, [2]string{"rbf(ard)", "rbf(ard) + matern12"}},
	{false, "layers", 1000, formula(uniform(5), 0.1, layers), [2]string{"rbf(ard)", "matern32(ard)"}},
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

// write writes the tables of the pairs to a folder, as CSV files with the target last, and names
// each with its kernels.
func write(folder, data string, tables uint64) error {
	for _, p := range pairs() {
		d, err := p.data(data, tables)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d.csv", p.table, p.rows)
		var text bytes.Buffer
		for i, y := range d.Y {
			for _, v := range d.X[i*d.D : (i+1)*d.D] {
				fmt.Fprintf(&text, "%v,", v)
			}
			fmt.Fprintln(&text, y)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s\t%s\n", name, p.kernel)
	}
	return nil
}

// data returns the table of a pair. Real tables are read from the folder and thinned. tables
// seeds the random numbers of both.
func (p pair) data(folder string, tables uint64) (problem.Data, error) {
	seed := uint64(0)
	for _, c := range p.table {
		seed = seed*131 + uint64(c)
	}
	m := maker{Rand: rand.New(rand.NewPCG(seed, 7+tables))}
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

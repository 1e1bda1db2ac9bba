package main

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
)

// drawn returns rows of inputs between 0 and 1, and the targets of a function with normal noise.
func drawn(n, d int, noise float64, f func(x []float64) float64) func(*rand.Rand) (x, y []float64) {
	return func(rng *rand.Rand) (x, y []float64) {
		for range n {
			row := make([]float64, d)
			for c := range row {
				row[c] = rng.Float64()
			}
			x, y = append(x, row...), append(y, f(row)+noise*rng.NormFloat64())
		}
		return x, y
	}
}

// read returns a random choice of n rows of a table of the shared folder, whose last column is the target.
func read(folder, name string, n int) func(*rand.Rand) (x, y []float64) {
	return func(rng *rand.Rand) (x, y []float64) {
		file, err := os.Open(filepath.Join(folder, name, "data.csv.gz"))
		must(err)
		defer file.Close()
		plain, err := gzip.NewReader(file)
		must(err)
		rows, err := csv.NewReader(plain).ReadAll()
		must(err)
		for _, i := range rng.Perm(len(rows))[:n] {
			last := len(rows[i]) - 1
			for c, text := range rows[i] {
				v, err := strconv.ParseFloat(text, 64)
				must(err)
				if c == last {
					y = append(y, v)
				} else {
					x = append(x, v)
				}
			}
		}
		return x, y
	}
}

// spoiltTables fits tables of which a share of the targets is off by 5 to 15 standard deviations, in training rows and in
// the third that is held out, with and without option robust, and prints the densities of held-out rows.
func spoiltTables(b device.Backend, kernel, folder string, share float64, seed uint64) {
	tables := []struct {
		name string
		d    int
		draw func(*rand.Rand) (x, y []float64)
	}{
		{"wave", 1, drawn(225, 1, 0.1, func(x []float64) float64 { return math.Sin(12*x[0]) + x[0] })},
		{"plane", 3, drawn(300, 3, 0.2, func(x []float64) float64 { return x[0] - 2*x[1] + 3*x[2] })},
		{"friedman", 5, drawn(450, 5, 1, func(x []float64) float64 {
			return 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-0.5)*(x[2]-0.5) + 10*x[3] + 5*x[4]
		})},
		{"concrete", 8, read(folder, "concrete", 600)}, {"airfoil", 5, read(folder, "airfoil", 600)},
	}
	fmt.Println("table\tseed\ttraining\toff\theld out\toff\tNLPD plain\tNLPD robust\tclean plain\tclean robust\tcoverage plain\tcoverage robust\tstd robust/plain")
	for _, t := range tables {
		rng := rand.New(rand.NewPCG(seed, 5))
		x, y := t.draw(rng)
		n := len(y)
		data := problem.Data{N: n, D: t.d, X: x, Y: y, Test: make([]bool, n)}
		for i := range n {
			data.Test[i] = i%3 == 2
		}
		scale, off := gp.NewScaling(gp.StandardizeY, nil, y, 0).YScale, make([]bool, n)
		counts := map[bool]int{}
		for i := range n {
			if off[i] = rng.Float64() < share; off[i] {
				y[i] += scale * (5 + 10*rng.Float64()) * float64(1-2*rng.IntN(2))
				counts[data.Test[i]]++
			}
		}
		var all, clean, inside, std [2]float64
		held := n / 3
		for k, robust := range []bool{false, true} {
			job, err := fit.Prepare(data, problem.Options{Kernel: kernel, Robust: robust}, problem.Events{})
			must(err)
			out, err := fit.Run(context.Background(), job, b)
			must(err)
			at, noise, observed, numbers := fit.HeldOut(job.Prepared)
			p, err := out.Posterior().PredictNoise(context.Background(), at, held, noise)
			must(err)
			for i, y := range observed[0] {
				nlpd := p.Density(i).NegLog(y)
				all[k] += nlpd / float64(held)
				std[k] += p.Std[i] / float64(held)
				if !off[numbers[i]] {
					clean[k] += nlpd / float64(held-counts[true])
				}
				if y >= p.Lower95[i] && y <= p.Upper95[i] {
					inside[k] += 100 / float64(held)
				}
			}
			out.Close()
		}
		fmt.Printf("%s\t%d\t%d\t%d\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t%.1f\t%.2f\n", t.name, seed, n-held, counts[false], held, counts[true], all[0], all[1], clean[0], clean[1], inside[0], inside[1], std[1]/std[0])
	}
}

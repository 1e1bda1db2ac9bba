// Command robust compares fits with and without option robust on tables whose function is known:
// with Student-t(1.6) noise, with gross outliers, and with normal noise.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
)

var scale = flag.Float64("scale", 0.1, "standard deviation of normal noise, and scale of t noise")
var only = flag.String("only", "", "only this noise")

// noises are the kinds of noise, by name. Each returns the error of a row and whether it is gross.
var noises = []struct {
	name string
	draw func(rng *rand.Rand) (float64, bool)
}{
	{"t(1.6)", func(rng *rand.Rand) (float64, bool) {
		return *scale * rng.NormFloat64() / math.Sqrt(2*gamma(rng, 0.8)/1.6), false
	}},
	{"5% gross", gross(0.05)},
	{"10% gross", gross(0.1)},
	{"normal", gross(0)},
}

// gross returns normal errors of 0.1, some of them with 1 to 4 more, up or down.
func gross(share float64) func(rng *rand.Rand) (float64, bool) {
	return func(rng *rand.Rand) (float64, bool) {
		e, off := 0.1*rng.NormFloat64(), rng.Float64() < share
		if off {
			e += (1 + 3*rng.Float64()) * float64(1-2*rng.IntN(2))
		}
		return e, off
	}
}

// gamma draws from the gamma distribution with this shape (Marsaglia & Tsang 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// functions are the true functions, by the number of columns.
var functions = map[int]func(x []float64) float64{
	2: func(x []float64) float64 { return math.Sin(3*x[0]) + x[1]*x[1] },
	3: func(x []float64) float64 { return math.Sin(2*x[0]+x[1]) + 0.5*math.Cos(3*x[1]) + x[2] },
}

func main() {
	n := flag.Int("rows", 320, "training rows")
	seeds := flag.Int("seeds", 6, "tables of each kind")
	kernel := flag.String("kernel", "matern32(ard)", "kernel; empty for the default")
	flag.Parse()
	b, err := cpu.New(device.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("noise\tcolumns\tseed\tRMSE plain\tRMSE robust\tratio\tNLPD plain\tNLPD robust\toff\tfound\tfalse\tvalues plain\tvalues robust")
	for _, noise := range noises {
		if *only != "" && noise.name != *only {
			continue
		}
		var ratios, nlpd []float64
		for seed := range *seeds {
			ratio, worse := compare(b, *kernel, *n, 2+seed%2, uint64(seed), noise.name, noise.draw)
			ratios, nlpd = append(ratios, ratio), append(nlpd, worse)
		}
		slices.Sort(ratios)
		slices.Sort(nlpd)
		fmt.Printf("# %s: median ratio of RMSE %.3f, largest %.3f; median difference of NLPD %.4f, largest %.4f\n", noise.name, ratios[len(ratios)/2], ratios[len(ratios)-1], nlpd[len(nlpd)/2], nlpd[len(nlpd)-1])
	}
}

// compare fits one table both ways and prints a line.
func compare(b device.Backend, kernel string, n, d int, seed uint64, name string, draw func(rng *rand.Rand) (float64, bool)) (ratio, worse float64) {
	rng := rand.New(rand.NewPCG(seed, 27))
	data := problem.Data{N: n, D: d}
	off, clean := map[int]bool{}, gross(0)
	points := func(m int, draw func(rng *rand.Rand) (float64, bool)) (x, truth, y []float64) {
		for i := range m {
			row := make([]float64, d)
			for c := range row {
				row[c] = 4*rng.Float64() - 2
			}
			f := functions[d](row)
			e, gross := draw(rng)
			if gross {
				off[i] = true
			}
			x, truth, y = append(x, row...), append(truth, f), append(y, f+e)
		}
		return x, truth, y
	}
	data.X, _, data.Y = points(n, draw)
	x, truth, y := points(1000, clean)
	var rmse, nlpd [2]float64
	var values [2]int
	var found, wrong int
	for k, robust := range []bool{false, true} {
		job, err := fit.Prepare(data, problem.Options{Kernel: kernel, Robust: robust}, problem.Events{})
		must(err)
		out, err := fit.Run(context.Background(), job, b)
		must(err)
		p, err := out.Posterior().PredictNoise(context.Background(), x, len(truth), gp.RowNoise{})
		must(err)
		for i, f := range truth {
			rmse[k] += (p.Mean[i] - f) * (p.Mean[i] - f) / float64(len(truth))
			nlpd[k] += p.Density(i).NegLog(y[i]) / float64(len(truth))
		}
		rmse[k], values[k] = math.Sqrt(rmse[k]), out.Report.Evaluations.FullSizeGradient
		if robust {
			for _, row := range out.Report.Robust.Rows {
				if off[row.Row] {
					found++
				} else {
					wrong++
				}
			}
		}
		out.Close()
	}
	fmt.Printf("%s\t%d\t%d\t%.4f\t%.4f\t%.3f\t%.4f\t%.4f\t%d\t%d\t%d\t%d\t%d\n", name, d, seed, rmse[0], rmse[1], rmse[1]/rmse[0], nlpd[0], nlpd[1], len(off), found, wrong, values[0], values[1])
	return rmse[1] / rmse[0], nlpd[1] - nlpd[0]
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

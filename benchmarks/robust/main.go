// Command robust compares fits with and without option robust on tables whose function is known:
// with Student-t(1.6) noise, with gross outliers, and with normal noise. With -tables it compares densities of held-out
// rows, some of which are far off, too.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
)

var scale = flag.Float64("scale", 0.1, "standard deviation of normal noise, and scale of t noise")
var floors = flag.Bool("floor", false, "for t noise, also the error of the exact posterior mean")
var exacts []float64 // ratios of this error and the error of a plain fit
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
	folder := flag.String("tables", "", "fit five tables with gross errors, two of them in this folder, in place of tables of a function")
	share := flag.Float64("share", 0.05, "with -tables, the share of gross errors")
	flag.Parse()
	b, err := cpu.New(device.Options{})
	must(err)
	for seed := range *seeds {
		if *folder != "" {
			spoiltTables(b, *kernel, *folder, *share, uint64(seed))
		}
	}
	if *folder != "" {
		return
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
		if slices.Sort(exacts); noise.name == "t(1.6)" && *floors {
			fmt.Printf("# t(1.6): median ratio of the exact posterior mean %.3f\n", exacts[len(exacts)/2])
		}
		fmt.Printf("# %s: median ratio of RMSE %.3f, largest %.3f; median difference of NLPD %.4f, largest %.4f\n", noise.name, ratios[len(ratios)/2], ratios[len(ratios)-1], nlpd[len(nlpd)/2], nlpd[len(nlpd)-1])
	}
}

// floor returns the error of the exact posterior mean at x under Student-t(1.6) noise of the given scale, by
// Gibbs sampling of the noise variance of each row, for the kernel parameters of a fit to rows with
// normal noise, and the error of that fit: what no method can be expected to beat.
func floor(b device.Backend, data problem.Data, clean, x, truth []float64, rng *rand.Rand) (exact, cleanRMSE float64) {
	d, n := data.D, data.N
	y := data.Y
	data.Y = clean
	job, err := fit.Prepare(data, problem.Options{Kernel: "matern32(ard)"}, problem.Events{})
	must(err)
	out, err := fit.Run(context.Background(), job, b)
	must(err)
	defer out.Close()
	p, err := out.Posterior().PredictNoise(context.Background(), x, len(truth), gp.RowNoise{})
	must(err)
	cov := func(a, b []float64) float64 {
		r := 0.0
		for c := range d {
			r += math.Pow((a[c]-b[c])/out.Report.ParametersOriginalUnits[fmt.Sprintf("lengthscale[%d]", c)], 2)
		}
		r = math.Sqrt(3 * r)
		return 100 + out.Report.ParametersOriginalUnits["signal_variance"]*(1+r)*math.Exp(-r) // 100: the mean
	}
	k, at := mat.NewSymDense(n, nil), mat.NewDense(len(truth), n, nil)
	for j := range n {
		row := data.X[j*d : (j+1)*d]
		for i := range j + 1 {
			k.SetSym(i, j, cov(data.X[i*d:(i+1)*d], row))
		}
		for i := range truth {
			at.Set(i, j, cov(x[i*d:(i+1)*d], row))
		}
	}
	const steps, burn = 500, 100
	var prior mat.Cholesky
	jittered := mat.NewSymDense(n, nil)
	jittered.CopySym(k)
	for i := range n {
		jittered.SetSym(i, i, k.At(i, i)+1e-8)
	}
	prior.Factorize(jittered)
	var lower mat.TriDense
	prior.LTo(&lower)
	variance, mean := slices.Repeat([]float64{*scale * *scale}, n), make([]float64, len(truth))
	for step := range steps {
		sigma := mat.NewSymDense(n, nil)
		sigma.CopySym(k)
		white, drawn, rest := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for i, v := range variance {
			sigma.SetSym(i, i, k.At(i, i)+v)
			white.SetVec(i, rng.NormFloat64())
		}
		drawn.MulVec(&lower, white)
		for i, v := range variance { // Matheron's rule
			rest.SetVec(i, y[i]-drawn.AtVec(i)-math.Sqrt(v)*rng.NormFloat64())
		}
		var chol mat.Cholesky
		chol.Factorize(sigma)
		var alpha, update, f mat.VecDense
		must(chol.SolveVecTo(&alpha, rest))
		update.MulVec(k, &alpha)
		if step >= burn {
			var weights mat.VecDense
			must(chol.SolveVecTo(&weights, mat.NewVecDense(n, y)))
			f.MulVec(at, &weights)
			for i := range mean {
				mean[i] += f.AtVec(i) / (steps - burn)
			}
		}
		for i := range variance {
			r := (y[i] - drawn.AtVec(i) - update.AtVec(i)) / *scale
			variance[i] = *scale * *scale * (1.6 + r*r) / 2 / gamma(rng, 1.3)
		}
	}
	return rmseOf(mean, truth), rmseOf(p.Mean, truth)
}

func rmseOf(mean, truth []float64) float64 {
	sum := 0.0
	for i, f := range truth {
		sum += (mean[i] - f) * (mean[i] - f) / float64(len(truth))
	}
	return math.Sqrt(sum)
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
	if *floors && name == "t(1.6)" {
		var same []float64
		for i := range n {
			same = append(same, functions[d](data.X[i*d:(i+1)*d])+*scale*rng.NormFloat64())
		}
		exact, normal := floor(b, data, same, x, truth, rng)
		fmt.Printf("# seed %d: exact posterior mean under the true noise %.4f, ratio %.3f; robust is %.2f times that; a fit to normal noise of this scale %.4f\n", seed, exact, exact/rmse[0], rmse[1]/exact, normal)
		exacts = append(exacts, exact/rmse[0])
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

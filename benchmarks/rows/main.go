// Command rows measures the cost of a row of pairs on one core: covariances (Fill)
// and derivatives by all parameters (Contract), for every family and for
// composites, in pieces as in package cpu. It prints a line of JSON for each.
//
//	go -C benchmarks build -o ../after ./rows
//	benchmarks/rows/compare.py before after
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"gpfit/kernel"
)

// composites are measured in addition to the families; all is a sum of three or more leaves.
var composites = []string{"rbf + matern32 + periodic", "rbf(ard)*periodic + rq", "rbf*matern52 + linear*cosine"}

const points, rows, columns = 1024, 64, 512

func main() {
	seconds := flag.Float64("seconds", 0.03, "time for each measurement")
	only := flag.String("only", "", "kernels that contain this")
	flag.Parse()
	texts := composites
	for _, name := range kernel.Families() {
		texts = append(texts, name, name+"(ard)")
	}
	for _, text := range texts {
		for _, d := range []int{2, 8, 26} {
			if strings.Contains(text, *only) {
				if err := measure(text, d, *seconds); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}
	}
}

func measure(text string, d int, seconds float64) error {
	prog, err := kernel.CompileText(text, d)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	coordinates, theta, adj := make([]float64, points*d), make([]float64, prog.NumParams), make([]float64, columns)
	for i := range coordinates {
		coordinates[i] = rng.NormFloat64()
	}
	for i := range theta {
		theta[i] = 1.5 + 0.1*float64(i%7)
	}
	for i := range adj {
		adj[i] = rng.NormFloat64()
	}
	x, e := kernel.NewPoints(coordinates, points, d), kernel.NewEvaluator(prog)
	e.Bind(theta)
	out, grad := make([]float64, columns), make([]float64, prog.NumParams)
	fill := nanoseconds(seconds, func(i, j int) { e.Row(out, x, i, x, j, j+columns) })
	contract := nanoseconds(seconds, func(i, j int) { e.RowGradient(grad, adj, x, i, x, j, j+columns) })
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"kernel": text, "d": d, "fill": fill, "contract": contract})
}

// nanoseconds returns the smallest time per pair over some passes.
func nanoseconds(seconds float64, f func(i, j int)) float64 {
	best, begin := math.Inf(1), time.Now()
	for time.Since(begin).Seconds() < seconds {
		pass := time.Now()
		for i := range rows {
			for j := 0; j < points; j += columns {
				f(i, j)
			}
		}
		best = min(best, float64(time.Since(pass).Nanoseconds())/(rows*points))
	}
	return best
}

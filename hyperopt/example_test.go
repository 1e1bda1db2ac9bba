package hyperopt_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

// rates is the likelihood of waiting times, −Σ(log λ − λ·time), with the rate λ as the
// only parameter. Its minimum is at the inverse of the mean time.
type rates struct{ times []float64 }

func (p rates) Rows() int { return len(p.times) }

func (p rates) Parameters() []descent.Parameter {
	return []descent.Parameter{{Name: "rate", Group: "rate", Log: true, Start: 1, Lower: 0, Upper: math.Inf(1)}}
}

func (p rates) Limits([]float64) []float64                     { return []float64{math.Inf(1)} }
func (p rates) Starts() ([][]float64, int)                     { return nil, 7 }
func (p rates) Groups() []int                                  { return nil }
func (p rates) Alternatives([]float64) (near, far [][]float64) { return nil, nil }
func (p rates) Workers(int) int                                { return 1 }
func (p rates) Room(context.Context, int) error                { return nil }

// Open takes some of the rows, or all if rows is nil.
func (p rates) Open(_ context.Context, _ int, rows []int) (hyperopt.Session, error) {
	if rows == nil {
		return p, nil
	}
	var part rates
	for _, i := range rows {
		part.times = append(part.times, p.times[i])
	}
	return part, nil
}

func (p rates) Value(_ context.Context, z []float64) (float64, error) {
	sum := 0.0
	for _, t := range p.times {
		sum += math.Exp(z[0])*t - z[0]
	}
	return sum, nil
}

func (p rates) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	grad[0] = 0
	for _, t := range p.times {
		grad[0] += math.Exp(z[0])*t - 1
	}
	return p.Value(ctx, z)
}

func (p rates) Close() {}

// Tune minimizes over all rows, in stages of growing subsets.
func ExampleTune() {
	var p rates
	for i := range 3000 {
		p.times = append(p.times, 0.25*(1+math.Sin(float64(i))))
	}
	result, err := hyperopt.Tune(context.Background(), p, hyperopt.Settings{Restarts: 2, Seed: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rate %.2f\n", math.Exp(result.X[0]))
	fmt.Println("first on", result.Path[0].Rows, "rows, last on", result.Path[len(result.Path)-1].Rows)
	// Output:
	// rate 4.00
	// first on 750 rows, last on 3000
}

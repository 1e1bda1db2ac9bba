package gp

import (
	"context"
	"math"
	"testing"

	"gpfit/internal/must"
	"gpfit/kernel"
)

// tent is a custom kernel, Π exp(−|Δ_c|/w).
var tent = &kernel.Family{
	Name: "tent", Parameters: []kernel.Parameter{{Name: "width"}},
	Function: func(p *kernel.Pair) *kernel.Node {
		return p.Exp(p.Neg(p.Div(p.Abs(p.Difference("")), p.Parameter("width"))))
	},
}

// TestCustomKernel checks that custom kernels predict term by term and have
// gradients.
func TestCustomKernel(t *testing.T) {
	m := newModel(t, 20)
	m.Kernel, m.Kernels = "tent(dims=0) + rbf", []*kernel.Family{tent}
	prog := must.Get(m.Program())(t)
	m.ParameterNames, m.Theta = prog.Names(), []float64{1.5, 0.8, 1.1, 0.6}
	weigh(t, m)
	rows := newRows(4)
	p := condition(t, m)
	terms, sum := must.Get2(p.Terms(context.Background(), rows, 4))(t)
	whole := predict(t, m, rows)
	for i := range sum {
		for _, term := range terms {
			sum[i] += term.Mean[i]
		}
		if math.Abs(sum[i]-whole.Mean[i]) > 1e-12*math.Abs(sum[i]) {
			t.Errorf("row %d: terms add up to %v, want %v", i, sum[i], whole.Mean[i])
		}
	}
	grad := must.Get(p.MeanGradient(context.Background(), rows, 4))(t)
	step := 1e-5 * m.Scaling.XScale[1]
	up, down := append([]float64(nil), rows...), append([]float64(nil), rows...)
	for i := range 4 {
		up[3*i+2] += step
		down[3*i+2] -= step
	}
	hi, lo := predict(t, m, up), predict(t, m, down)
	for i := range 4 {
		if want := (hi.Mean[i] - lo.Mean[i]) / (2 * step); math.Abs(grad[3*i+2]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("row %d: derivative %v, central difference %v", i, grad[3*i+2], want)
		}
	}
}

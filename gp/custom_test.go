package gp

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"gpfit/kernel"
)

// tent is a kernel of one's own without derivatives by the inputs.
type tent struct{}

func (tent) Name() string { return "tent" }

func (tent) Params(int, bool) ([]kernel.CustomParam, error) {
	return []kernel.CustomParam{{Name: "width"}}, nil
}

func (tent) Value(theta, x, y, grad []float64) float64 {
	v := 1.0
	for c := range x {
		v *= math.Exp(-math.Abs(x[c]-y[c]) / theta[0])
	}
	if grad != nil {
		grad[0] = -v * math.Log(v)
	}
	return v
}

// smoothTent has them.
type smoothTent struct{ tent }

func (s smoothTent) InputGradient(theta, x, y, grad []float64) {
	v := s.Value(theta, x, y, nil)
	for c := range x {
		grad[c] = -v * math.Copysign(1, x[c]-y[c]) / theta[0]
	}
}

// TestCustomKernel: kernels of one's own predict term by term; without a
// derivative there is no gradient; no other program can have them.
func TestCustomKernel(t *testing.T) {
	m := newModel(t, 20)
	m.Kernel, m.Kernels = "tent + rbf", []kernel.Custom{tent{}}
	prog, err := m.Program()
	if err != nil {
		t.Fatal(err)
	}
	m.ParameterNames, m.Theta = prog.Names(), []float64{1.5, 0.8, 1.1, 0.6}
	weigh(t, m)
	rows := newRows(4)
	p := condition(t, m)
	terms, sum, err := p.Terms(context.Background(), rows, 4)
	if err != nil {
		t.Fatal(err)
	}
	whole := predict(t, m, rows)
	for i := range sum {
		for _, term := range terms {
			sum[i] += term.Mean[i]
		}
		if math.Abs(sum[i]-whole.Mean[i]) > 1e-12*math.Abs(sum[i]) {
			t.Errorf("row %d: terms add up to %v, want %v", i, sum[i], whole.Mean[i])
		}
	}
	if _, err := p.MeanGradient(context.Background(), rows, 4); err == nil || !strings.Contains(err.Error(), "no derivatives by the inputs") {
		t.Errorf("gradient: error %v", err)
	}
	for _, write := range []func(io.Writer) error{m.ExportJSON, m.ExportNPZ} {
		if err := write(io.Discard); err == nil || !strings.Contains(err.Error(), "tent is one's own") {
			t.Errorf("export: error %v", err)
		}
	}
	m.Kernels = []kernel.Custom{smoothTent{}}
	p = condition(t, m)
	grad, err := p.MeanGradient(context.Background(), rows, 4)
	if err != nil {
		t.Fatal(err)
	}
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

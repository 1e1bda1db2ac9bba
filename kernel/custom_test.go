package kernel

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// brownian is min(x, y) on one column, scaled: a kernel without input
// derivatives.
type brownian struct{ name string }

func (b brownian) Name() string { return b.name }

func (brownian) Params(d int, ard bool) ([]CustomParam, error) {
	if d != 1 || ard {
		return nil, errors.New("it takes one column and no ard")
	}
	return []CustomParam{{Name: "rate"}}, nil
}

func (brownian) Value(theta, x, y, grad []float64) float64 {
	v := theta[0] * min(x[0], y[0])
	if grad != nil {
		grad[0] = v
	}
	return v
}

func TestCustom(t *testing.T) {
	parser := Parser{Custom: []Custom{brownian{"brownian"}}}
	e, err := parser.Parse("brownian(dims=1, rate=2, signal_variance=3)*rbf(dims=0) + linear")
	if err != nil {
		t.Fatal(err)
	}
	again, err := parser.Parse(e.String())
	if err != nil || again.String() != e.String() {
		t.Fatalf("%q reads back as %v, %v", e, again, err)
	}
	p := compile(t, e, Columns(2))
	if got, want := strings.Join(p.Names(), " "), "k1.k1.rate k1.k2.lengthscale k1.signal_variance k2.signal_variance"; got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
	if p.Params[0].Start[0] != 2 || p.Params[2].Start[0] != 3 || p.Params[0].Kind != Shape {
		t.Errorf("parameters %+v", p.Params)
	}
	theta := []float64{2, 0.5, 3, 0.25}
	x, y := []float64{0.5, 4}, []float64{0.25, 3}
	want := 3*2*3*math.Exp(-0.125) + 0.25*(0.125+12)
	if got := eval(p, theta, x, y); math.Abs(got-want) > relTol*want {
		t.Errorf("k = %v, want %v", got, want)
	}
	if p.CheckInputGradient() == nil {
		t.Error("a kernel without derivatives by the inputs was accepted")
	}
	e2, grad := NewEvaluator(p), make([]float64, 2)
	e2.Bind(theta)
	if e2.RowInputGradient(grad, []float64{1}, NewPoints(x, 1, 2), 0, NewPoints(y, 1, 2), 0, 1); grad[1] == grad[1] {
		t.Errorf("its derivative by the inputs is %v, want NaN", grad[1])
	}
	terms, err := Terms(e, Columns(2))
	if err != nil || len(terms) != 2 || math.Abs(eval(terms[0].Program, terms[0].Theta(theta), x, y)+eval(terms[1].Program, terms[1].Theta(theta), x, y)-want) > relTol*want {
		t.Errorf("terms %+v, %v", terms, err)
	}
}

func TestCustomErrors(t *testing.T) {
	for _, name := range []string{"rbf", "1st", "", "a b", "+"} {
		if _, err := (Parser{Custom: []Custom{brownian{name}}}).Parse("rbf"); err == nil {
			t.Errorf("a kernel called %q was accepted", name)
		}
	}
	parser := Parser{Custom: []Custom{brownian{"brownian"}}}
	if _, err := parser.Parse("brownan"); err == nil || !strings.Contains(err.Error(), `did you mean "brownian"`) {
		t.Errorf("error %v, want a suggestion", err)
	}
	for _, text := range []string{"brownian", "brownian(dims=0, ard)", "brownian(dims=0, speed=1)", "brownian(dims=0, rate=[1, 2])"} {
		e, err := parser.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var ce *CompileError
		if _, err := Compile(e, Columns(2)); !errors.As(err, &ce) || !strings.Contains(err.Error(), "brownian") {
			t.Errorf("%s: error %v, want a CompileError that names it", text, err)
		}
	}
}

func TestKernelhood(t *testing.T) {
	x := NewPoints([]float64{0, 0.5, 1, 1, 2, -3}, 6, 1)
	for text, ok := range map[string]bool{"rbf + periodic": true, "linear*poly(3)": true, "cosine": true, "brownian": false} {
		e, err := Parser{Custom: []Custom{brownian{"brownian"}}}.Parse(text) // of a negative time it is none
		if err != nil {
			t.Fatal(err)
		}
		p := compile(t, e, Columns(1))
		theta := make([]float64, p.NumParams)
		for i := range theta {
			theta[i] = 1
		}
		h, err := CheckKernelhood(p, theta, x)
		if err != nil || h.OK() != ok || strings.Contains(h.String(), "no covariance function") == ok {
			t.Errorf("%s: %s, %v", text, h, err)
		}
	}
	p := mustCompile(t, "rbf", 1)
	if h, err := CheckKernelhood(p, []float64{1, 1}, NewPoints([]float64{1, math.NaN()}, 2, 1)); err != nil || h.OK() || !h.NonFinite {
		t.Errorf("NaN: %v, %v", h, err)
	}
	if _, err := CheckKernelhood(p, []float64{1}, x); err == nil {
		t.Error("too few parameters were accepted")
	}
	if _, err := CheckKernelhood(p, []float64{1, 1}, NewPoints([]float64{1, 2}, 1, 2)); err == nil {
		t.Error("points of other columns were accepted")
	}
}

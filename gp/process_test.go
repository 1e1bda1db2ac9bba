package gp

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestProcess checks that parameters have the values in the expression, or 1,
// unless they are set, and that observations include noise.
func TestProcess(t *testing.T) {
	expr := must.Get(kernel.Parse("rbf(ard, lengthscale=[2, 3]) + matern12"))(t)
	const n, d = 4, 2
	rows := []float64{0, 0, 1, 0.5, -1, 2, 0.3, 0.3}
	p := must.Get(NewProcess(expr, d))(t)
	joint := func(observed bool) []float64 {
		t.Helper()
		j := must.Get(p.Joint(context.Background(), rows, n, observed))(t)
		if slices.ContainsFunc(j.Mean, func(v float64) bool { return v != 0 }) {
			t.Errorf("mean %v", j.Mean)
		}
		return j.Cov
	}
	prog := must.Get(kernel.Compile(expr, kernel.Columns(d)))(t)
	want := func(values map[string]float64) []float64 {
		t.Helper()
		var theta []float64
		for _, name := range prog.Names() {
			v, ok := values[name]
			if !ok {
				v = 1
			}
			theta = append(theta, v)
		}
		j := must.Get(NewPrior(context.Background(), prog, theta, kernel.NewPoints(rows, n, d), nil))(t)
		return j.Cov
	}
	if got := joint(false); !slices.Equal(got, want(map[string]float64{"k1.lengthscale[0]": 2, "k1.lengthscale[1]": 3})) {
		t.Errorf("covariance %v", got)
	}
	for _, s := range []struct {
		name  string
		value float64
	}{{"k1.lengthscale", 0.5}, {"k1.lengthscale[1]", 0.7}, {"k2.signal_variance", 4}, {"noise_variance", 0.25}} {
		must.Do(t, p.Set(s.name, s.value))
	}
	cov := want(map[string]float64{"k1.lengthscale[0]": 0.5, "k1.lengthscale[1]": 0.7, "k2.signal_variance": 4})
	if got := joint(false); !slices.Equal(got, cov) {
		t.Errorf("covariance %v, want %v", got, cov)
	}
	for i := range n {
		cov[i*n+i] += 0.25
	}
	if got := joint(true); !slices.Equal(got, cov) {
		t.Errorf("covariance of observations %v, want %v", got, cov)
	}
	var unknown *NameError
	if err := p.Set("k2.lenghtscale", 1); !errors.As(err, &unknown) || unknown.Error() != `k2.lenghtscale: there is no such parameter (did you mean "k2.lengthscale"?)` {
		t.Errorf("error %v", err)
	}
	if err := p.Set("k2.lengthscale[0]", 1); !errors.As(err, &unknown) {
		t.Errorf("a number as a vector: %v", err)
	}
}

// TestTargetNamed checks that "" means the only target, and that one of several
// targets must be named.
func TestTargetNamed(t *testing.T) {
	one := newModel(t, 20)
	one.TargetName = "y"
	for _, name := range []string{"", "y"} {
		if m, err := one.TargetNamed(name); err != nil || m != one {
			t.Errorf("%q: %v, %v", name, m, err)
		}
	}
	two := *one
	two.Y, two.Alpha = slices.Concat(one.Y, one.Y), slices.Concat(one.Alpha, one.Alpha)
	two.Targets = []Target{{Name: "a", YScale: 1}, {Name: "b", YScale: 2}}
	if m, err := two.TargetNamed("b"); err != nil || m.TargetName != "b" || m.Scaling.YScale != 2 || m.T() != 1 {
		t.Errorf("%v, %v", m, err)
	}
	for _, c := range []struct {
		model      *Model
		name, want string
	}{
		{one, "z", `no target "z": the model's target is y`},
		{&two, "z", `no target "z": the model's targets are a, b`},
		{&two, "", "the model has several targets: a, b"},
	} {
		_, err := c.model.TargetNamed(c.name)
		var te *NameError
		if !errors.As(err, &te) || te.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.name, err, c.want)
		}
	}
	if TargetSeed(7, "") != 7 || TargetSeed(7, "a") == TargetSeed(7, "b") || TargetSeed(7, "a") == TargetSeed(8, "a") {
		t.Error("seeds of targets")
	}
}

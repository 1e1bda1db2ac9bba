package cuda

import (
	"context"
	"math"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestOwnKernel fits with a user-defined covariance function, written in Go without a
// derivative, and with a formula, and compares the GPU with the CPU.
func TestOwnKernel(t *testing.T) {
	sech := &kernel.Family{
		Name: "sech", Parameters: []kernel.Parameter{{Name: "lengthscale", Kind: kernel.Lengthscale, Count: kernel.PerColumn}},
		Function: func(p *kernel.Pair) *kernel.Node {
			r := p.Distance("lengthscale")
			return p.Div(p.Scale(2, p.Exp(p.Neg(r))), p.Add(p.Number(1), p.Exp(p.Scale(-2, r))))
		},
	}
	gpu := mustOpen(t)
	defer gpu.Close()
	host := must.Get(cpu.New(device.Options{}))(t)
	defer host.Close()
	const n = 60
	d := problem.Data{N: n, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
	for i := range n {
		a, b := 3*math.Sin(float64(i)), 2*math.Cos(1.7*float64(i))
		d.X, d.Y = append(d.X, a, b), append(d.Y, math.Sin(a)*math.Cosh(b/2)+0.1*math.Sin(77*float64(i)))
	}
	for _, text := range []string{
		"sech(ard)", "sech*periodic + linear",
		"formula(exp(-r/a) * cos(2*pi*r/b), a=1, b=4)", "formula((1 + r2/a)^(-g)*exp(-tanh(r)), a=2, g=1, ard) + matern(3.5)",
	} {
		var nlml [2]float64
		for i, b := range []device.Backend{host, device.Dense{}.On(gpu)} {
			opts := problem.Options{Kernel: text, Kernels: []*kernel.Family{sech}, Settings: hyperopt.Settings{ToleranceNats: -1}}
			job := must.Get(fit.Prepare(d, opts, problem.Events{}))(t)
			nlml[i] = must.Get(fit.Run(context.Background(), job, b))(t).Report.NLML
		}
		if math.Abs(nlml[0]-nlml[1]) > 1e-10*math.Abs(nlml[0]) {
			t.Errorf("%s: NLML %v on the CPU, %v on the GPU", text, nlml[0], nlml[1])
		}
	}
}

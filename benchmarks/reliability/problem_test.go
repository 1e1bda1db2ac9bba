package reliability

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/device/cuda/emulator"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// composites are used in random problems in addition to the families.
var composites = []string{
	"rbf + matern32", "rbf(ard)*periodic + rq", "rbf*matern52 + linear*cosine", "poly(3) + constant", "poly(9)*rbf",
	"matern(7.5) + rbf*constant", "rbf(lengthscale=1e-3) + rbf(lengthscale=1e3)", "(rbf + linear)*(periodic + constant)",
	"rbf(dims=0) + matern12", "wendland(2) + arcsine", "gibbs*rbf + hamming",
	"formula(exp(-(r/a)^g), a=1, g=1)", "formula(exp(a*(x+y)), a=0.1, dims=0)*rbf", "formula(cos(r/a), a=1)",
	"formula(log1p(dot*dot)/a, a=2) + rbf", "formula((x + y - abs(x - y))/2, dims=0)", "formula(sqrt(xx*yy)*a, a=1)",
	"formula(1/(r - a), a=1)", "formula(tanh(dot)/(1 + r2/a), a=3, ard)",
}

var meanFunctions = []string{"", "", "constant", "linear", "poly(2)", "poly(7)", "bumps(3)", "linear + bumps(5)"}

// trial is a random problem generated from a seed.
type trial struct {
	seed uint64
	data problem.Data
	opts problem.Options
	// rows are m rows to predict.
	rows []float64
	m    int
}

func (p *trial) String() string {
	o := p.opts
	return fmt.Sprintf("seed %d: n %d, d %d, kernel %q ard %t, mean %q %s, no noise %t, standardize %q, objective %q, jitter %g, set %v, fix %v",
		p.seed, p.data.N, p.data.D, o.Kernel, o.ARD, o.Mean, o.MeanFit, o.NoNoise, o.Standardize, o.Objective, o.MaxJitter, o.Set, o.Fix)
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// often returns true in k of ten cases.
func often(rng *rand.Rand, k int) bool { return rng.IntN(10) < k }

// scale returns a power of ten from 1e-150 to 1e150, and 1 in half of the cases.
func scale(rng *rand.Rand) float64 {
	if often(rng, 5) {
		return 1
	}
	if often(rng, 5) {
		return math.Pow(10, 12*rng.Float64()-6)
	}
	return math.Pow(10, 300*rng.Float64()-150)
}

// newProblem returns a problem with 1 to largest rows and up to 30 columns.
func newProblem(seed uint64, largest int) *trial {
	rng := rand.New(rand.NewPCG(seed, 2026))
	p := &trial{seed: seed}
	n := int(math.Exp(rng.Float64() * math.Log(float64(largest)+0.99)))
	d := 1 + int(30*math.Pow(rng.Float64(), 2.5))
	p.data = problem.Data{N: n, D: d, TargetName: "y"}
	for c := range d {
		p.data.FeatureNames = append(p.data.FeatureNames, fmt.Sprintf("x%d", c))
	}
	wild := often(rng, 3)
	p.data.X = inputs(rng, n, d, wild)
	p.data.Y = targets(rng, p.data.X, n, d, wild)
	if often(rng, 1) {
		p.addKnownNoise(rng)
	}
	if n > 10 && often(rng, 2) {
		p.data.Test = make([]bool, n)
		for i := range p.data.Test {
			p.data.Test[i] = i%7 == 3
		}
	}
	p.opts = options(rng, n, d)
	p.chooseRows(rng)
	return p
}

// inputs returns rows that are normal, on a grid, on a line that makes Σ
// ill-conditioned, or repeated; columns may be constant and have any scale.
func inputs(rng *rand.Rand, n, d int, wild bool) []float64 {
	x := make([]float64, n*d)
	kind := rng.IntN(5)
	for i := range n {
		for c := range d {
			v := rng.NormFloat64()
			switch kind {
			case 1:
				v = float64(rng.IntN(4))
			case 2:
				v = float64(i) / float64(n)
			case 3:
				if i > 0 {
					v = x[(i-1)*d+c] + 1e-9*v
				}
			}
			x[i*d+c] = v
		}
		if i > 0 && kind == 4 && often(rng, 5) {
			copy(x[i*d:(i+1)*d], x[rng.IntN(i)*d:])
		}
	}
	for c := range d {
		factor, shift := 1.0, 0.0
		if wild {
			factor = scale(rng)
		}
		if often(rng, 1) {
			factor, shift = 0, 3
		} else if often(rng, 1) {
			shift = factor * math.Pow(10, 15*rng.Float64())
		}
		for i := range n {
			x[i*d+c] = x[i*d+c]*factor + shift
		}
	}
	return x
}

// targets returns targets that depend on the inputs, or are noise, constant or nearly constant.
func targets(rng *rand.Rand, x []float64, n, d int, wild bool) []float64 {
	factor, noise, shift, kind := 1.0, math.Pow(10, -16*rng.Float64()), 0.0, rng.IntN(10)
	if wild {
		factor = scale(rng)
	}
	if often(rng, 2) {
		shift = factor * math.Pow(10, 17*rng.Float64())
	}
	y := make([]float64, n)
	for i := range y {
		switch kind {
		case 0:
			y[i] = factor
			continue
		case 1:
			y[i] = rng.NormFloat64()
		case 2:
			y[i] = math.Pow(10, 30*rng.Float64()-15)
		default:
			y[i] = math.Sin(math.Mod(x[i*d], 10)) + noise*rng.NormFloat64()
		}
		y[i] = y[i]*factor + shift
	}
	return y
}

func (p *trial) addKnownNoise(rng *rand.Rand) {
	p.data.NoiseColumn = "s2"
	size := math.Pow(10, 40*rng.Float64()-20)
	for range p.data.N {
		p.data.NoiseVariance = append(p.data.NoiseVariance, size*rng.ExpFloat64())
	}
}

// options returns options for n rows of d columns. Mean functions with more
// coefficients than rows are errors, and therefore rare.
func options(rng *rand.Rand, n, d int) problem.Options {
	families := kernel.Families()
	o := problem.Options{Mean: "zero", Kernel: pick(rng, families...), ARD: often(rng, 4)}
	if n > 8*d || often(rng, 1) {
		o.Mean = pick(rng, meanFunctions...)
	}
	if often(rng, 4) {
		o.Kernel = pick(rng, composites...)
	}
	if o.Mean != "" && often(rng, 3) {
		o.MeanFit = problem.MeanFree
	}
	switch rng.IntN(8) {
	case 0:
		o.NoNoise = true
	case 1:
		o.Fix = []problem.Assignment{{Name: "noise_variance", Value: math.Pow(10, -20+8*rng.Float64()), Given: true}}
	case 2:
		o.Fix = []problem.Assignment{{Name: "noise_variance", Value: math.Pow(10, 12*rng.Float64()), Given: true}}
	case 3:
		o.Set = []problem.Assignment{{Name: "noise_variance", Value: 1e-6, Given: true}}
	}
	if often(rng, 2) {
		o.Standardize = pick(rng, gp.StandardizeNone, gp.StandardizeX, gp.StandardizeY)
	}
	if often(rng, 1) {
		o.Objective = problem.LOO
	}
	if often(rng, 2) {
		o.MaxJitter = math.Pow(10, -12+10*rng.Float64())
	}
	if often(rng, 1) && !o.NoNoise && !strings.Contains(o.Kernel, "formula") {
		o.Priors = []problem.ParameterPrior{{Name: "noise_variance", Density: graph.Prior{Family: "lognormal", Args: []float64{-3, 2}}}}
	}
	o.StdErrors = o.Objective != problem.LOO && often(rng, 1)
	o.LeaveOneOut = often(rng, 1)
	o.Settings = hyperopt.Settings{MaxEvaluations: 8, Seed: rng.Uint64N(1000)}
	if often(rng, 1) {
		o.Settings.Restarts = 2
	}
	return o
}

// chooseRows chooses rows to predict: training rows, rows between them and rows far away.
func (p *trial) chooseRows(rng *rand.Rand) {
	d := p.data.D
	p.m = 12
	for i := range p.m {
		at := rng.IntN(p.data.N) * d
		far := []float64{0, 1e-3, 1, 1e6}[i%4]
		for c := range d {
			v := p.data.X[at+c]
			p.rows = append(p.rows, v+far*v*rng.NormFloat64())
		}
	}
}

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{})) }

// calm returns a problem of moderate condition with a kernel of any kind.
func calm(seed uint64) (problem.Data, problem.Options) {
	rng := rand.New(rand.NewPCG(seed, 7))
	n, d := 60+rng.IntN(340), 1+rng.IntN(8)
	data := problem.Data{N: n, D: d, TargetName: "y", FeatureNames: []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:d]}
	for range n * d {
		data.X = append(data.X, rng.NormFloat64())
	}
	for i := range n {
		data.Y = append(data.Y, math.Sin(2*data.X[i*d])+0.2*rng.NormFloat64())
	}
	kernel := pick(rng, "rbf(ard)", "matern12", "matern32(ard)", "matern52", "rq", "periodic", "rbf + linear", "matern32*poly(2)", "wendland(2)",
		"arcsine + rbf", "gibbs", "formula(exp(-(r/a)^g), a=1, g=1)")
	return data, problem.Options{Mean: "zero", Kernel: kernel, Settings: hyperopt.Settings{MaxEvaluations: 6, Seed: seed}}
}

// numbers holds the results of an evaluation.
type numbers struct {
	NLML     float64
	Gradient map[string]float64
}

// evaluateCalm evaluates at the start values.
func evaluateCalm(t *testing.T, b device.Backend, seed uint64) numbers {
	t.Helper()
	data, opts := calm(seed)
	job := testcheck.Get(fit.Prepare(data, opts, problem.Events{}))(t)
	r := testcheck.Get(fit.Evaluate(context.Background(), job, b, nil))(t)
	return numbers{r.NLML, r.GradientLog}
}

// difference returns the relative differences of the NLML and of the gradient, the
// latter relative to its largest component.
func difference(a, b numbers) (nlml, gradient float64) {
	largest := 0.0
	for name, v := range a.Gradient {
		largest = max(largest, math.Abs(v))
		gradient = max(gradient, math.Abs(v-b.Gradient[name]))
	}
	return math.Abs(a.NLML-b.NLML) / math.Abs(a.NLML), gradient / largest
}

// child is the variable that makes a test print its results and end.
const child = "GPFIT_RELIABILITY_CHILD"

// again runs the test in a separate process and returns its output.
func again(t *testing.T, env ...string) []byte {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(append(os.Environ(), child+"=1"), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", env, err, out)
	}
	_, out, _ = bytes.Cut(out, []byte("<<<"))
	out, _, _ = bytes.Cut(out, []byte(">>>"))
	return out
}

// answers prints the results of problems in the process that again starts, and returns whether
// this is such a process.
func answers[T any](t *testing.T, count uint64, result func(seed uint64) T) bool {
	if os.Getenv(child) == "" {
		return false
	}
	var all []T
	for seed := range count {
		all = append(all, result(seed))
	}
	fmt.Printf("<<<%s>>>\n", testcheck.Get(json.Marshal(all))(t))
	return true
}

// TestVariants checks that instruction sets agree up to rounding.
func TestVariants(t *testing.T) {
	count := uint64(size(t, 6, 30))
	if answers(t, count, func(seed uint64) numbers { return evaluateCalm(t, backend(t, 1), seed) }) {
		return
	}
	const largest = 1e-12
	var of [3][]numbers
	for i, variant := range []string{"generic", "avx2", "avx512"} {
		if variant != "generic" && !hasVariant(variant) {
			t.Logf("this processor has no %s", variant)
			continue
		}
		testcheck.Do(t, json.Unmarshal(again(t, "GPFIT_CPU="+variant), &of[i]))
		nlml, gradient := 0.0, 0.0
		for seed := range of[i] {
			a, b := difference(of[0][seed], of[i][seed])
			nlml, gradient = max(nlml, a), max(gradient, b)
			if a > largest || b > largest {
				t.Errorf("seed %d, %s against generic: NLML %.3g, gradient %.3g", seed, variant, a, b)
			}
		}
		t.Logf("%d problems, %s against generic: NLML %.3g, gradient %.3g", len(of[i]), variant, nlml, gradient)
	}
}

func hasVariant(name string) bool {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && strings.Contains(string(cpuinfo), " "+strings.Replace(name, "avx512", "avx512dq", 1)+" ")
}

// TestSameBits checks that neither repetition nor the number of processors changes
// a bit of a fit with a fixed number of threads.
func TestSameBits(t *testing.T) {
	count := uint64(size(t, 1, 30))
	if b := backend(t, 3); answers(t, count, func(seed uint64) map[string]any { return fitCalm(t, b, seed) }) {
		return
	}
	want := again(t, "GOMAXPROCS=1")
	for _, processors := range []string{"1", "2", "4"} {
		if got := again(t, "GOMAXPROCS="+processors); !bytes.Equal(got, want) || len(got) < 100 {
			t.Errorf("GOMAXPROCS=%s: other results", processors)
		}
	}
	t.Logf("%d fits: the same bits in 4 processes, with GOMAXPROCS 1 twice, 2 and 4", count)
}

// fitCalm returns the report of a fit without times.
func fitCalm(t *testing.T, b device.Backend, seed uint64) map[string]any {
	t.Helper()
	data, opts := calm(seed)
	job := testcheck.Get(fit.Prepare(data, opts, problem.Events{}))(t)
	out := testcheck.Get(fit.Run(context.Background(), job, b))(t)
	defer out.Close()
	out.Report.Seconds, out.Report.EvaluationSeconds = 0, 0
	for i := range out.Report.Path {
		out.Report.Path[i].Seconds = 0
	}
	return map[string]any{"report": out.Report, "alpha": out.Model.Alpha}
}

// TestGPU checks that the emulated GPU agrees with the CPU up to rounding and
// repeats its own results bit by bit.
func TestGPU(t *testing.T) {
	emulator.Need(t)
	found, _ := testcheck.Get2(device.Dispatch(context.Background(), device.Request{Device: "cuda:0"}, []device.Driver{cuda.Driver{}}))(t)
	host := backend(t, 1)
	nlml, gradient, count := 0.0, 0.0, size(t, 1, 5)
	for seed := range uint64(count) {
		first := evaluateCalm(t, found[0], seed)
		second := evaluateCalm(t, found[0], seed)
		if a, b := difference(first, second); a != 0 || b != 0 {
			t.Errorf("seed %d: other bits when repeated", seed)
		}
		a, b := difference(evaluateCalm(t, host, seed), first)
		nlml, gradient = max(nlml, a), max(gradient, b)
		if a > 1e-12 || b > 1e-12 {
			t.Errorf("seed %d: NLML %.3g, gradient %.3g", seed, a, b)
		}
	}
	t.Logf("%d problems, emulated GPU against the CPU: NLML %.3g, gradient %.3g", count, nlml, gradient)
}

// TestGPULinear compares the derivative of a linear kernel that depends on few digits
// of Σ with 200 bits, on the emulated GPU.
func TestGPULinear(t *testing.T) {
	emulator.Need(t)
	found, _ := testcheck.Get2(device.Dispatch(context.Background(), device.Request{Device: "cuda:0"}, []device.Driver{cuda.Driver{}}))(t)
	_, data, o := problem200(35)
	job := testcheck.Get(fit.Prepare(data, o, problem.Events{}))(t)
	r := testcheck.Get(fit.Evaluate(context.Background(), job, found[0], nil))(t)
	const want = 0.34953072347210745 // Test200Bits, seed 35
	if got := r.GradientLog["signal_variance"]; !(math.Abs(got-want) <= 1e-5) {
		t.Errorf("derivative by signal_variance %v, in 200 bits %v", got, want)
	}
}

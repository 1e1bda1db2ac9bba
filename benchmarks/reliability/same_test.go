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
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

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
	return data, problem.Options{Kernel: kernel, Settings: hyperopt.Settings{MaxEvaluations: 6, Seed: seed}}
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
	job := must.Get(fit.Prepare(data, opts, problem.Events{}))(t)
	r := must.Get(fit.Evaluate(context.Background(), job, b, nil))(t)
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

func answer(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("<<<%s>>>\n", text)
}

// TestVariants checks that instruction sets agree up to rounding.
func TestVariants(t *testing.T) {
	count := uint64(size(t, 6, 30))
	if os.Getenv(child) != "" {
		var all []numbers
		for seed := range count {
			all = append(all, evaluateCalm(t, backend(t, 1), seed))
		}
		answer(all)
		return
	}
	const largest = 1e-12
	var of [3][]numbers
	for i, variant := range []string{"generic", "avx2", "avx512"} {
		if variant != "generic" && !hasVariant(variant) {
			t.Logf("this processor has no %s", variant)
			continue
		}
		must.Do(t, json.Unmarshal(again(t, "GPFIT_CPU="+variant), &of[i]))
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
	count := uint64(size(t, 3, 30))
	if os.Getenv(child) != "" {
		b := backend(t, 3)
		var all []map[string]any
		for seed := range count {
			all = append(all, fitCalm(t, b, seed))
		}
		answer(all)
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
	job := must.Get(fit.Prepare(data, opts, problem.Events{}))(t)
	out := must.Get(fit.Run(context.Background(), job, b))(t)
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
	found, _ := must.Get2(device.Dispatch(context.Background(), device.Request{Device: "cuda:0"}, []device.Driver{cuda.Driver{}}))(t)
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
	found, _ := must.Get2(device.Dispatch(context.Background(), device.Request{Device: "cuda:0"}, []device.Driver{cuda.Driver{}}))(t)
	_, data, o := problem200(35)
	job := must.Get(fit.Prepare(data, o, problem.Events{}))(t)
	r := must.Get(fit.Evaluate(context.Background(), job, found[0], nil))(t)
	const want = 0.34953072347210745 // Test200Bits, seed 35
	if got := r.GradientLog["signal_variance"]; !(math.Abs(got-want) <= 1e-5) {
		t.Errorf("derivative by signal_variance %v, in 200 bits %v", got, want)
	}
}

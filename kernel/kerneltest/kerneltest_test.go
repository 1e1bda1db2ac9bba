package kerneltest_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// wendland is Wendland's C² function of compact support, (1 − r)⁴(1 + 4r) for
// r < 1, positive definite in up to 3 dimensions: a kernel that a user might
// add. R&W eq. 4.21.
type wendland struct {
	// wrong chooses a mistake to be found.
	wrong string
}

func (wendland) Name() string { return "wendland" }

func (wendland) Params(d int, ard bool) ([]kernel.CustomParam, error) {
	if d > 3 {
		return nil, errors.New("positive definite on at most 3 columns")
	}
	return []kernel.CustomParam{{Name: "lengthscale", Kind: kernel.Lengthscale, PerColumn: ard}}, nil
}

func (w wendland) radius(theta, x, y []float64) float64 {
	sum := 0.0
	for c := range x {
		d := (x[c] - y[c]) / theta[min(c, len(theta)-1)]
		sum += d * d
	}
	return math.Sqrt(sum)
}

func (w wendland) Value(theta, x, y, grad []float64) float64 {
	r := w.radius(theta, x, y)
	for p := range grad {
		grad[p] = 0
	}
	if w.wrong == "asymmetric" && x[0] > y[0] {
		r *= 1 + 1e-9
	}
	if r >= 1 {
		if w.wrong == "indefinite" {
			return -0.1
		}
		return 0
	}
	// dk/dr = −20 r (1 − r)³ and r ∂r/∂log ρ_c = −(Δ_c/ρ_c)².
	slope := 20 * math.Pow(1-r, 3)
	if w.wrong == "gradient" {
		slope *= 1.001
	}
	for c := range x {
		if grad != nil {
			p := min(c, len(theta)-1)
			d := (x[c] - y[c]) / theta[p]
			grad[p] += slope * d * d
		}
	}
	return math.Pow(1-r, 4) * (1 + 4*r)
}

func (w wendland) InputGradient(theta, x, y, grad []float64) {
	r := w.radius(theta, x, y)
	for c := range x {
		grad[c] = 0
		if rho := theta[min(c, len(theta)-1)]; r < 1 {
			grad[c] = -20 * math.Pow(1-r, 3) * (x[c] - y[c]) / (rho * rho)
		}
	}
	if w.wrong == "inputs" {
		grad[0] = -grad[0]
	}
}

// TestRun: the kernel alone, and within expressions. Its fifth derivative jumps
// at r = 1, its third as well: central differences across it are less exact.
func TestRun(t *testing.T) {
	kerneltest.Run(t, wendland{}, kerneltest.Options{ARD: true})
	for _, text := range []string{"wendland*periodic + linear", "rbf*(wendland(ard, lengthscale=2) + constant)"} {
		kerneltest.Expression(t, text, []kernel.Custom{wendland{}}, kerneltest.Options{})
	}
}

// TestBuiltIn runs the helper on the built-in families. matern12 has a kink
// only where points meet, which random ones do not.
func TestBuiltIn(t *testing.T) {
	for _, name := range kernel.Families() {
		kerneltest.Expression(t, name, nil, kerneltest.Options{})
		kerneltest.Expression(t, name+"(ard)", nil, kerneltest.Options{})
	}
}

// TestMistakes runs the helper on wrong kernels in a process of its own, where
// it has to fail.
func TestMistakes(t *testing.T) {
	const variable = "KERNELTEST_MISTAKE"
	if wrong := os.Getenv(variable); wrong != "" {
		kerneltest.Run(t, wendland{wrong: wrong}, kerneltest.Options{Columns: []int{1}})
		return
	}
	for wrong, want := range map[string]string{
		"asymmetric": "differ by", "indefinite": "has the eigenvalue", "gradient": "∂/∂log lengthscale", "inputs": "∂/∂x",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMistakes$")
		cmd.Env = append(os.Environ(), variable+"="+wrong)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: error %v, output without %q:\n%s", wrong, err, want, out)
		}
	}
}

package kerneltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// compact is Wendland's C² function of compact support, (1 − r)⁴(1 + 4r) for r < 1,
// positive definite in up to 3 dimensions: a kernel that a user might add. R&W eq.
// 4.21. wrong selects a mistake that the tests must find.
func compact(wrong string) *kernel.Family {
	return &kernel.Family{
		Name:       "compact",
		Parameters: []kernel.Parameter{{Name: "lengthscale", Kind: kernel.Lengthscale, Count: kernel.PerColumn}},
		Function: func(p *kernel.Pair) *kernel.Node {
			r := p.Distance("lengthscale")
			k := p.Mul(p.PowInt(p.Positive(p.Sub(p.Number(1), r)), 4), p.Add(p.Number(1), p.Scale(4, r)))
			switch wrong {
			case "asymmetric":
				x, _ := p.Coordinates()
				return p.Mul(k, p.Add(p.Number(1), p.Scale(1e-9, x)))
			case "indefinite":
				return p.Sub(k, p.Number(0.1))
			}
			return k
		},
	}
}

// TestRun tests the kernel alone and within expressions. Its third and fifth
// derivatives jump at r = 1, so central differences across it are less accurate.
func TestRun(t *testing.T) {
	own := compact("")
	kerneltest.Run(t, own)
	for _, text := range []string{"compact*periodic + linear", "rbf*(compact(ard, lengthscale=2) + constant)"} {
		kerneltest.Expression(t, text, []*kernel.Family{own})
	}
}

// TestBuiltIn runs the helper on the built-in families. matern12 has a kink
// only where points meet, which random ones do not.
func TestBuiltIn(t *testing.T) {
	for _, name := range kernel.Families() {
		kerneltest.Expression(t, name, nil)
		kerneltest.Expression(t, name+"(ard)", nil)
	}
	kerneltest.Expression(t, "additive(matern32)", nil)
	kerneltest.Expression(t, "additive(rq, ard) + rbf*additive(matern52, ard)", nil)
}

// TestMistakes runs the helper on wrong kernels in a separate process, where it must fail.
func TestMistakes(t *testing.T) {
	const variable = "KERNELTEST_MISTAKE"
	if wrong := os.Getenv(variable); wrong != "" {
		kerneltest.Run(t, compact(wrong), 1)
		return
	}
	for wrong, want := range map[string]string{"asymmetric": "differ by", "indefinite": "has the eigenvalue"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMistakes$")
		cmd.Env = append(os.Environ(), variable+"="+wrong)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: error %v, output without %q:\n%s", wrong, err, want, out)
		}
	}
}

package kernel

import (
	"errors"
	"strings"
	"testing"
)

// TestCompileErrorPosition checks that compilation errors point to the faulty part
// in sums, products and parentheses, and to the second of two equal leaves.
func TestCompileErrorPosition(t *testing.T) {
	for text, want := range map[string]string{
		"rbf(dims=7)":            "rbf(dims=7)",
		"rbf + matern32(dims=7)": "matern32(dims=7)",
		"rbf + (rbf + linear*(rbf(dims=0) + rq(dims=9)))":     "rq(dims=9)",
		"(rbf + linear)*periodic(dims=[0, 5])*rbf":            "periodic(dims=[0, 5])",
		"rbf + rbf(ard, lengthscale=[1, 2, 3])":               "rbf(ard, lengthscale=[1, 2, 3])",
		"linear + linear(lengthscale=2)*rbf":                  "linear(lengthscale=2)*rbf",
		"rbf + linear(ard)*rbf(signal_variance=2)":            "linear(ard)*rbf(signal_variance=2)",
		"rbf + rbf(signal_variance=2)*rbf(signal_variance=2)": "rbf(signal_variance=2)",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Compile(e, Columns(2))
		var ce *CompileError
		if !errors.As(err, &ce) || !strings.HasPrefix(ce.Text[ce.Pos:], want) {
			t.Errorf("%s: error %v, want a mark below %s", text, err, want)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 3 || len(lines[2]) != len("  ")+ce.Pos+1 {
			t.Errorf("%s: %q", text, lines)
		}
	}
}

package kernel

import (
	"regexp"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestNamesOfOthers checks that the names of other programs get hints, and that what these name are kernels.
func TestNamesOfOthers(t *testing.T) {
	for meant := range others {
		if !strings.HasPrefix(meant, "-") {
			testcheck.Get(Parse(meant))(t)
		}
	}
	hint := regexp.MustCompile(`^unknown kernel "[^"]*" (\(did you mean "([^"]*)"\?\)|\(.*(noise|signal_variance|rbf|matern12|matern32|arcsine|formula).*\)):`)
	for _, name := range strings.Fields("gauss gaussian SE SquaredExponential RBF powexp Exponential exp WhiteKernel white nugget RationalQuadratic ScaleKernel ConstantKernel DotProduct ExpSineSquared Matern " +
		"matern5_2 matern3_2 Matern52 brownian spectral_mixture Polynomial squared_exponential arccos RBFKernel MaternKernel PeriodicKernel LinearKernel rbfdot laplacedot vanilladot polydot anovadot tanhdot besseldot splinedot ChangePoints") {
		_, err := Parse("rbf + " + name)
		found := hint.FindStringSubmatch(err.(*ParseError).Msg)
		if found == nil {
			t.Errorf("%s: %v", name, err)
		} else if found[2] != "" {
			testcheck.Get(Parse(found[2]))(t)
		}
	}
}

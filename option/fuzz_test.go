package option

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/fuzzguard"
)

// FuzzParameters checks that a value of a parameter option, written as a text, reads
// back to the same value, and that an option refuses other texts with a typed error.
func FuzzParameters(f *testing.F) {
	for flag, texts := range [][]string{
		{"lengthscale=2", "k1.lengthscale[3]= 1e-3 ", "=1", "noise_variance[a=b]=2", "x=0x1p-2", "x=1_0"},
		{"noise_variance", "noise_variance=0.25", "a=", "=", "period==1"},
		{"lengthscale=0.1:1e2", "x=:", "x=1:2:3", "x=nan:inf"},
		{"noise_variance=lognormal(-4, 1)", "x=gamma(2", "=normal(0,1)", " x =uniform(0, 1)"},
		{"k2.lengthscale=k1.lengthscale", "a=", "a=b=c", "=b"},
	} {
		for _, text := range texts {
			f.Add(uint8(flag), text)
		}
	}
	f.Fuzz(func(t *testing.T, flag uint8, text string) {
		flag %= 5
		fuzzguard.Run(t, func() {
			o, err := parse(flag, text)
			if err != nil {
				if !isMistake(err) {
					t.Fatalf("%q: %#v", text, err)
				}
				return
			}
			printed := printParameter(o)
			again, err := parse(flag, printed)
			if err != nil || !cmp.Equal(o, again, cmpopts.IgnoreUnexported(problem.Options{Kernel: "rbf", Mean: "zero"})) {
				t.Fatalf("%q → %q → %+v (%v), want %+v", text, printed, again, err, o)
			}
		})
	})
}

func isMistake(err error) bool {
	var wrong *problem.OptionError
	var prior *graph.PriorError
	return err.Error() != "" && (errors.As(err, &wrong) || errors.As(err, &prior) && prior.Pos >= 0 && prior.Pos <= len(prior.Text))
}

// parse reads a text as the value of one of the options.
func parse(which uint8, text string) (problem.Options, error) {
	var v Values
	o := All().Find([]string{"set", "fix", "bounds", "prior", "tie"}[which], "fit")
	value, err := o.Read(nil, text)
	if err == nil {
		o.Assign(&v, value)
	}
	return v.Fit, err
}

// printParameter returns the only option of o as a text.
func printParameter(o problem.Options) string {
	switch {
	case o.Set != nil:
		return fmt.Sprintf("%s=%v", o.Set[0].Name, o.Set[0].Value)
	case o.Fix != nil && !o.Fix[0].Given:
		return o.Fix[0].Name
	case o.Fix != nil:
		return fmt.Sprintf("%s=%v", o.Fix[0].Name, o.Fix[0].Value)
	case o.Bounds != nil:
		return fmt.Sprintf("%s=%v:%v", o.Bounds[0].Name, o.Bounds[0].Lo, o.Bounds[0].Hi)
	case o.Priors != nil:
		return o.Priors[0].Name + "=" + o.Priors[0].Density.String()
	}
	return o.Ties[0].String()
}

// FuzzParseBytes checks that an amount is positive and bounded, and that JSON keeps it.
func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"4GiB", "500 MB", "1.5K", "0B", "-1B", "nanB", "infGB", "1e30TB", "1e-30B", " 7 B ", "GiB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			return
		}
		if b < 1 || b > 1<<60 {
			t.Fatalf("%q is %d bytes", text, b)
		}
		kept, err := json.Marshal(b)
		var again int64
		if err != nil || json.Unmarshal(kept, &again) != nil || again != b {
			t.Fatalf("%q is %d, read back %d, %v", text, b, again, err)
		}
	})
}

// FuzzParseGrid checks that a grid is finite, sorted and bounded.
func FuzzParseGrid(f *testing.F) {
	for _, text := range []string{"-1:1:5", "0:1:3", "-1e3:1e-3:100", "0:inf:3", "nan:1:2", "0:1:-3", "1:0:3", ":::", "0:1:99999999999999999999", "-1e308:1e308:3", "0:5e-324:3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() {
			grid, err := parseGrid(text)
			switch {
			case err != nil || text == "":
			case len(grid) < 2 || !slices.IsSorted(grid) || grid[0] >= grid[len(grid)-1]:
				t.Fatalf("%q: %d numbers from %v to %v", text, len(grid), grid[0], grid[len(grid)-1])
			case text == "-1:1:5" && !slices.Equal(grid, []float64{-1, -0.5, 0, 0.5, 1}):
				t.Fatal(grid)
			}
		})
	})
}

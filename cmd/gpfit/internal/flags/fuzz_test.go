package flags

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit"
	"gpfit/graph"
	"gpfit/internal/fuzzguard"
)

// FuzzParseGrid: a grid is ascending and ends where it should, or an error.
func FuzzParseGrid(f *testing.F) {
	for _, text := range []string{"0:1:3", "-1e3:1e-3:100", "0:inf:3", "nan:1:2", "0:1:-3", "1:0:3", ":::", "0:1:99999999999999999999", "-1e308:1e308:3", "0:5e-324:3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() {
			grid, err := ParseGrid(text)
			if err != nil {
				var usage *exit.UsageError
				if !errors.As(err, &usage) {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			if len(grid) < 2 || !slices.IsSorted(grid) || grid[0] >= grid[len(grid)-1] {
				t.Fatalf("%q: %d numbers from %v to %v", text, len(grid), grid[0], grid[len(grid)-1])
			}
		})
	})
}

// FuzzParameters: what --set, --fix, --bounds, --prior and --tie take is an option
// that can be written as a text of the flag and read back to the same, and what they
// refuse is a mistake on the command line.
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
			if err != nil || !cmp.Equal(o, again, cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(fit.Options{})) {
				t.Fatalf("%q → %q → %+v (%v), want %+v", text, printed, again, err, o)
			}
		})
	})
}

func isMistake(err error) bool {
	var usage *exit.UsageError
	var prior *graph.PriorError
	return err.Error() != "" && (errors.As(err, &usage) || errors.As(err, &prior) && prior.Pos >= 0 && prior.Pos <= len(prior.Text))
}

// parse reads a text of one of the flags.
func parse(flag uint8, text string) (o fit.Options, err error) {
	var p parameterFlags
	*[]*[]string{&p.set, &p.fix, &p.bounds, &p.priors, &p.ties}[flag] = []string{text}
	err = p.apply(&o)
	return o, err
}

// printParameter writes the one option of o as a text of its flag.
func printParameter(o fit.Options) string {
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

// FuzzLine: a whole command line of the flags that describe a fit is taken, or
// refused as a mistake; a word that is taken is among those that the help lists.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"--kernel\nrbf(ard) + matern32\n--mean\nlinear\n--set\nlengthscale=2", "--standardize\nxyz", "--coarse=off\n--optimizer=adam",
		"--max-jitter\n1e-6\n--noise\nnone", "--features\na,\"b,c\",0-3\n--target\ny,z", "--scores\nloo,cv\n--folds\n5", "--split-mask\n:1",
		"--subsample\n-1", "--max-evals\n99999999999999999999", "--seed\n-1", "--restarts\n0x10", "--unknown", "--folds\n1", "-",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		fuzzguard.Run(t, func() { checkLine(t, strings.Split(line, "\n")) })
	})
}

func checkLine(t *testing.T, args []string) {
	var m ModelFlags
	var d DataFlags
	var s ScoreFlags
	set := pflag.NewFlagSet("fit", pflag.ContinueOnError)
	set.Usage = func() {}
	m.Add(set)
	m.AddNoise(set, &d)
	m.AddTuning(set)
	d.Add(set)
	d.AddSplitMask(set)
	s.Add(set)
	if set.Parse(args) != nil || Read(set) != nil {
		return
	}
	o, err := m.Options()
	if err == nil {
		err = s.Apply(&o)
	}
	if err != nil {
		if exit.Code(t.Context(), err) != exit.Usage {
			t.Fatalf("%q: %v, exit code %d", args, err, exit.Code(t.Context(), err))
		}
		return
	}
	set.VisitAll(func(f *pflag.Flag) {
		c, ok := f.Value.(interface{ choices() []string })
		if ok && !slices.Contains(c.choices(), f.Value.String()) {
			t.Fatalf("%q: --%s is %q", args, f.Name, f.Value)
		}
	})
	if !(o.MaxJitter >= 0) || math.IsInf(o.MaxJitter, 0) {
		t.Fatalf("%q: jitter %v", args, o.MaxJitter)
	}
}

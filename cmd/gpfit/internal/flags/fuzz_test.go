package flags

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/fuzzguard"
)

// FuzzLine checks that a whole command line of fit's flags is accepted or refused as a
// mistake, and that an accepted word is one that the help lists.
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
	var o Set
	cmd := &cobra.Command{Use: "fit"}
	o.Add(cmd, "fit")
	if cmd.ParseFlags(args) != nil {
		return
	}
	if err := Read(cmd); err != nil {
		if exit.Code(t.Context(), err) != exit.Usage {
			t.Fatalf("%q: %v, exit code %d", args, err, exit.Code(t.Context(), err))
		}
		return
	}
	for i := range o.table {
		opt := &o.table[i]
		word, ok := o.Given[opt.Name].(string)
		if ok && opt.Words != nil && !slices.Contains(opt.Words, word) {
			t.Fatalf("%q: --%s is %q", args, opt.Name, word)
		}
	}
	if j := o.Fit.MaxJitter; !(j >= 0) || math.IsInf(j, 0) {
		t.Fatalf("%q: jitter %v", args, j)
	}
}

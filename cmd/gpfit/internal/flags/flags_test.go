package flags

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/fuzzguard"
	"gpfit/option"
)

// TestNewOption checks that a flag, its variable, its help and its completion need only
// one entry in the table.
func TestNewOption(t *testing.T) {
	turns := 0
	table := append(option.All().For("fit"), option.Option{
		Name: "extra-turns", Kind: option.Whole, Group: option.Tuning, Default: "2", Most: 9, Help: "number of extra turns", Places: []string{"fit", option.Spec},
		Examples: []string{"3", "5"},
		Set:      func(_ *option.Values, value any) { turns = value.(int) },
	})
	command := func() (*cobra.Command, *Set) {
		cmd, o := &cobra.Command{Use: "fit DATA", Run: func(*cobra.Command, []string) {}}, &Set{}
		o.addTable(cmd, "fit", table)
		return cmd, o
	}
	for _, c := range []struct {
		args     []string
		variable string
		want     int
		err      string
	}{
		{want: 2},
		{args: []string{"--extra-turns", "4"}, want: 4},
		{variable: "5", want: 5},
		{args: []string{"--extra-turns=4"}, variable: "5", want: 4},
		{args: []string{"--extra-turns=10"}, err: "option extra-turns 10: must be from 0 to 9"},
		{variable: "x", err: `environment variable GPFIT_EXTRA_TURNS="x": option extra-turns x: must be a whole number`},
	} {
		cmd, o := command()
		if t.Setenv("GPFIT_EXTRA_TURNS", c.variable); c.variable == "" {
			t.Setenv("GPFIT_EXTRA_TURNS", "2")
		}
		err := cmd.ParseFlags(c.args)
		if err == nil {
			err = Read(cmd)
		}
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %s", c, err, c.err)
			}
			continue
		}
		if err != nil || turns != c.want || o.Given["extra-turns"] != c.want {
			t.Errorf("%v: %v, %d turns, given %v", c, err, turns, o.Given)
		}
	}
	cmd, _ := command()
	if help := helpText(cmd, 80); !strings.Contains(help, "--extra-turns N       number of extra turns (at most 9; default: 2)") {
		t.Error(help)
	}
	Complete(cmd)
	complete, _ := cmd.GetFlagCompletionFunc("extra-turns")
	if words, _ := complete(cmd, nil, ""); !slices.Equal(words, []string{"3", "5"}) {
		t.Errorf("completes %v", words)
	}
}

// TestWrap checks that Wrap breaks text at the width, continues items below their second
// column, and leaves blocks that fit as they are.
func TestWrap(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"one two three four\nfive six\n\nseven", "one two three\nfour five six\n\nseven"},
		{"  a  b c\n  d  e", "  a  b c\n  d  e"},
		{"x:\n\n  ab  one two three\n      four", "x:\n\n  ab  one two\n      three\n      four"},
		{"  a-long-column  one two three", "  a-long-column\n      one two\n      three"},
	} {
		if got := Wrap(c.text, 13); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzLine checks that a whole command line of fit's flags is accepted or refused as a
// mistake, and that an accepted word is one that the help lists.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"--kernel\nrbf(ard) + matern32\n--mean\nlinear\n--set\nlengthscale=2", "--standardize\nxyz", "--coarse=off\n--optimizer=lbfgs",
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

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// adviceTables writes tables that call for different advice.
func adviceTables(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(7, 7))
	files := map[string]string{"skewed.csv": "x,z,g,v,y\n", "series.csv": "t,g,y\n", "far.csv": "x,z,y\n", "gaps.csv": "x,z,u,w\n", "season.csv": "x,y\n", "mask.csv": "m\n", "wave.csv": "x,y\n"}
	for i := range n {
		x, z, e := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		far, u := 0.0, fmt.Sprint(math.Sin(x)+0.6*e)
		if i%20 == 3 {
			far = 5
		}
		if i%9 == 0 {
			u = ""
		}
		add := func(name, format string, args ...any) { files[name] += fmt.Sprintf(format+"\n", args...) }
		add("skewed.csv", "%v,%v,%d,%v,%v", x, z, i%5, 0.01+0.001*float64(i%3), math.Exp(1.5*math.Sin(2*x)+z/2+0.3*e))
		add("series.csv", "%d,%d,%v", i, i/6, math.Sin(float64(i)/5)+0.1*e)
		add("far.csv", "%v,%v,%v", x, z, math.Sin(2*x)+0.05*e+far)
		add("gaps.csv", "%v,%v,%s,%v", x, z, u, rng.NormFloat64())
		if i < n/2 {
			add("season.csv", "%v,%v", 6*float64(i)/29, math.Sin(12*float64(i)/29))
		}
		add("mask.csv", "%d", map[bool]int{true: 1}[i%20 == 3])
		add("wave.csv", "%v,%v", x, math.Sin(25*x)+0.5*e)
	}
	for name, text := range files {
		testcheck.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// TestAdvice runs the commands that reports print as the next step: each ends well, and none names an option that the user
// decided or that others exclude.
func TestAdvice(t *testing.T) {
	t.Chdir(t.TempDir())
	adviceTables(t)
	for line, want := range map[string]string{
		"fit skewed.csv --kernel rbf":                                                  "target-transform",
		"fit skewed.csv --kernel rbf --target-transform none":                          "ard",
		"fit skewed.csv --target-transform none":                                       "holdout",
		"fit skewed.csv --kernel rbf --noise-floor 0.1:original":                       "ard",
		"fit skewed.csv --kernel rbf --robust --noise-column v":                        "ard",
		"fit skewed.csv --kernel rbf --objective loo --max-evals 2":                    "max-evals",
		"fit series.csv --features t --kernel rbf":                                     "holdout",
		"fit series.csv --features t --kernel rbf --split-mask mask.csv":               "",
		"fit series.csv --features t --kernel rbf --group g --scores cv":               "",
		"fit far.csv --kernel rbf":                                                     "robust",
		"fit far.csv --kernel rbf(ard) --experts kmeans:2 --noise none --max-jitter 1": "-",
		"fit gaps.csv --kernel rbf --target u,w --missing drop":                        "target",
		"fit season.csv --kernel rbf":                                                  "kernel",
		"fit season.csv --kernel rbf --mean linear --mean-prior tuned":                 "",
		"fit season.csv --kernel rbf*rbf+rbf --set k1.signal_variance=1":               "",
		"fit wave.csv --kernel rbf --holdout 8 --coarse off":                           "restarts",
		"select skewed.csv --kernels rbf --folds 4":                                    "target-transform",
		"select skewed.csv --kernels rbf --kernels matern32 --target-transform none":   "ard",
	} {
		words := append(strings.Fields(line), "--json", "--quiet")
		if words[0] == "fit" {
			words = append(words, "--out", "m.gpfit", "--force")
		}
		var report struct {
			summary.Report
			Best *summary.Report `json:"report"`
		}
		decodeLine(t, &report, words...)
		if report.Best != nil {
			report.Report = *report.Best
		}
		next := report.Verdict.Next
		if next == nil {
			if want != "" && want != "-" {
				t.Errorf("%s: no advice", line)
			}
			continue
		}
		if _, ok := next.Options[want]; !ok && want != "-" {
			t.Errorf("%s: the advice is %s, want option %q", line, next, want)
		}
		for name := range next.Options {
			if slices.Contains(words, "--"+name) && name != "restarts" && name != "max-evals" && name != "holdout" && name != "target" && name != "kernel" {
				t.Errorf("%s: the advice changes option %s", line, name)
			}
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", next.Command).CombinedOutput(); err != nil || next.Command == "" {
			t.Errorf("%s: the command %q: %v: %s", line, next.Command, err, out)
		}
	}
}

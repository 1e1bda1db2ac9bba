// Command formulas times the NLML with its gradient under formulas and under the families that
// they write out, or the nearest ones, on one thread. It evaluates the two of a pair in turn and
// prints the medians and the median of the ratios.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"gpfit/compare/speed"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
)

// Twins are a formula and a family on d columns. twin means that the formula writes the family out,
// so that their values agree.
type twins struct {
	Family, Formula string
	D               int
	Twin            bool
}

var pairs = []twins{
	{"rbf", "formula(exp(-r2/(2*l^2)), l=1)", 8, true},
	{"rbf(ard)", "formula(exp(-r2/2), ard)", 8, true},
	{"matern12", "formula(exp(-r/l), l=1)", 8, true},
	{"matern32", "formula((1 + sqrt(3)*r/l)*exp(-sqrt(3)*r/l), l=1)", 8, true},
	{"matern52", "formula((1 + sqrt(5)*r/l + 5*r2/(3*l^2))*exp(-sqrt(5)*r/l), l=1)", 8, true},
	{"rq", "formula((1 + r2/(2*alpha*l^2))^-alpha, l=1, alpha=1)", 8, true},
	{"rq(ard)", "formula((1 + r2/(2*alpha))^-alpha, ard, alpha=1)", 8, true},
	{"wendland(2)", "formula(pos(1 - r/l)^9*(1 + 9*r/l + 80/3*r2/l^2), l=10)", 8, true},
	{"periodic", "formula(exp(-2*sin(pi*(x - y)/p)^2/l^2), l=1, p=1)", 1, true},
	{"cosine", "formula(cos(2*pi*(x - y)/p), p=1)", 1, true},
	{"linear", "formula(dot)", 8, true},
	{"poly(2)", "formula((o + dot)^2, o=1)", 8, true},
	{"arcsine", "formula(2/pi*asin(2*(o + dot/l^2)/sqrt((1 + 2*(o + xx/l^2))*(1 + 2*(o + yy/l^2)))), o=1, l=1)", 8, true},
	{"gibbs", "formula(sqrt(2/(exp(log(h/l)/2*(x - y)) + exp(log(h/l)/2*(y - x))))*exp(-(x - y)^2/(l*h*(exp(log(h/l)*x) + exp(log(h/l)*y)))), l=1, h=2)", 1, true},
	{"hamming", "formula(exp(-mismatches/l^2), l=1)", 8, true},
	// The formulas of docs/kernels.md, with the nearest families.
	{"rq", "formula(exp(-(r/a)^g), a=1, g=1.5)", 8, false},
	{"matern32 + rbf", "formula(sigmoid(5*(x-0.3))*sigmoid(5*(y-0.3)), dims=0)*matern32 + formula(sigmoid(5*(0.3-x))*sigmoid(5*(0.3-y)), dims=0)*rbf", 8, false},
	{"rbf", "formula(exp(a*(x+y)), a=0.1, dims=0)*rbf", 8, false},
	{"matern12(dims=0)", "formula((x + y - abs(x - y))/2, dims=0)", 8, false},
	{"rbf(dims=0) + rbf(dims=0)", "formula(exp(-(x-y)^2/(2*a^2)) + exp(-(x+y)^2/(2*a^2)), a=1, dims=0)", 8, false},
}

// timing is the measurement of a pair: the medians, the median of the ratios of consecutive
// evaluations, and all seconds.
type timing struct {
	twins
	N                            int
	FamilySeconds, FormulaSecond float64
	Ratio                        float64
	All                          [2][]float64
}

func main() {
	n := flag.Int("n", 600, "rows")
	repeat := flag.Int("repeat", 41, "evaluations of each kernel")
	raw := flag.String("raw", "", "also write all seconds to this file, a JSON object a line")
	only := flag.String("only", "", "only pairs whose formula matches this pattern")
	flag.Parse()
	if err := run(*n, *repeat, *raw, regexp.MustCompile(*only)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n, repeat int, raw string, only *regexp.Regexp) error {
	head()
	var lines []string
	fmt.Printf("\n%-26s %2s %10s %10s %6s  formula\n", "family", "d", "family", "formula", "ratio")
	for _, p := range pairs {
		if !only.MatchString(p.Formula) {
			continue
		}
		r, err := measure(p, n, repeat)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Formula, err)
		}
		fmt.Printf("%-26s %2d %7.3f ms %7.3f ms %6.3f  %s\n", p.Family, p.D, 1e3*r.FamilySeconds, 1e3*r.FormulaSecond, r.Ratio, p.Formula)
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines = append(lines, string(line)+"\n")
	}
	fmt.Printf("\nload: %s", read("/proc/loadavg"))
	if raw == "" {
		return nil
	}
	return os.WriteFile(raw, []byte(strings.Join(lines, "")), 0o644)
}

// head prints the machine, the program and the command.
func head() {
	cpu, _, _ := strings.Cut(read("/proc/cpuinfo")[strings.Index(read("/proc/cpuinfo"), "model name")+len("model name	: "):], "\n")
	revision, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		revision = []byte("unknown\n")
	}
	fmt.Printf("cpu: %s\ncores: %d, one thread used\nload: %sdate: %s\nrevision: %sgo: %s\ncommand: %s\n", cpu, runtime.NumCPU(), read("/proc/loadavg"),
		time.Now().UTC().Format(time.RFC3339), revision, runtime.Version(), strings.Join(append([]string{"benchmarks/formulas"}, os.Args[1:]...), " "))
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown\n"
	}
	return string(text)
}

// measure evaluates both kernels of a pair in turn. Each evaluation has other parameters, so that
// nothing is reused.
func measure(p twins, n, repeat int) (*timing, error) {
	r := &timing{twins: p, N: n}
	ctx := context.Background()
	var values [2]float64
	err := open(ctx, p.Family, p.D, n, func(family *fit.Parts) error {
		return open(ctx, p.Formula, p.D, n, func(formula *fit.Parts) error {
			for k := range repeat + 1 {
				for i, parts := range []*fit.Parts{family, formula} {
					z := slices.Clone(parts.Start)
					for j := range z {
						z[j] += 1e-3 * float64(k)
					}
					grad := make([]float64, len(z))
					start := time.Now()
					value, err := parts.Objective.ValueGradient(ctx, z, grad)
					if err != nil {
						return err
					}
					if k == 0 {
						values[i] = value // a warm-up
						continue
					}
					r.All[i] = append(r.All[i], time.Since(start).Seconds())
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	var ratios []float64
	for k := range repeat {
		ratios = append(ratios, r.All[1][k]/r.All[0][k])
	}
	r.FamilySeconds, r.FormulaSecond, r.Ratio = speed.Median(r.All[0]), speed.Median(r.All[1]), speed.Median(ratios)
	return r, nil
}

// open prepares a fit and opens it on a CPU of one thread.
func open(ctx context.Context, kernel string, d, n int, f func(*fit.Parts) error) error {
	data := speed.Synthetic(n, d, 1)
	for i := range data.X {
		data.X[i] = math.Abs(data.X[i]) // Brownian motion begins at 0
	}
	job, err := fit.Prepare(data, problem.Options{Kernel: kernel, Mean: "zero", Standardize: gp.StandardizeY}, problem.Events{})
	if err != nil {
		return err
	}
	b, err := cpu.New(device.Options{Threads: 1})
	if err != nil {
		return err
	}
	return fit.Measure(ctx, job, b, f)
}

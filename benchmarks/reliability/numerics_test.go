package reliability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt/descent"
)

// outcome is the outcome of a problem: the step and the type of error at which it
// ended, or "done", and any defect found.
type outcome struct {
	end   string
	wrong string
}

// TestNumerics checks that a value with gradient, a short fit and predictions on
// random problems give finite numbers or typed errors. GPFIT_SEED=17
// GPFIT_PROBLEMS=1 repeats the problem of seed 17.
func TestNumerics(t *testing.T) {
	count, first := size(t, 60, 2000), firstSeed(t)
	b := backend(t, 1)
	ends := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range seeds {
				p := newProblem(seed, 400)
				o := p.run(b)
				mu.Lock()
				ends[o.end]++
				mu.Unlock()
				if o.wrong != "" {
					t.Errorf("%s\n%s", p, o.wrong)
				}
			}
		})
	}
	for i := range uint64(count) {
		seeds <- first + i
	}
	close(seeds)
	wg.Wait()
	t.Logf("%d problems from seed %d on", count, first)
	for _, end := range slices.SortedFunc(maps.Keys(ends), func(a, b string) int { return ends[b] - ends[a] }) {
		t.Logf("%6d  %s", ends[end], end)
	}
}

// run executes all steps of the problem. It runs the fit even if the evaluation at
// the start values failed.
func (p *trial) run(b device.Backend) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = outcome{end: "panic", wrong: fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	ctx := context.Background()
	job, err := fit.Prepare(p.data, p.opts, problem.Events{})
	if err != nil {
		return failed("prepare", err)
	}
	report, err := fit.Evaluate(ctx, job, b, nil)
	start := failed("evaluate", err)
	if err == nil {
		start = finiteReport("evaluation", report)
	}
	out, err := fit.Run(ctx, job, b)
	if err != nil {
		return failed("fit", err).after(start)
	}
	defer out.Close()
	return p.predict(ctx, b, out).after(finiteReport("fit", &out.Report)).after(start)
}

// after keeps an earlier defect.
func (o outcome) after(before outcome) outcome {
	if before.wrong != "" {
		o.wrong = before.wrong
	}
	return o
}

// predict conditions the model again, like a model that was read from a file.
func (p *trial) predict(ctx context.Context, b device.Backend, out *fit.Outcome) outcome {
	posterior, err := out.Model.Condition(ctx, b)
	if err != nil {
		return failed("condition", err)
	}
	defer posterior.Close()
	predictions, err := posterior.PredictTargets(ctx, p.rows, p.m, gp.RowNoise{})
	if err != nil {
		return failed("predict", err)
	}
	for _, q := range predictions {
		if o := finitePrediction(q); o.wrong != "" {
			return o
		}
	}
	return outcome{end: "done"}
}

// finiteReport relies on JSON, which has neither NaN nor infinities. Undefined scores are null.
func finiteReport(of string, r *summary.Report) outcome {
	if _, err := json.Marshal(r); err != nil {
		return outcome{wrong: fmt.Sprintf("report of the %s: %v", of, err)}
	}
	return outcome{}
}

func finitePrediction(q *gp.Prediction) outcome {
	for name, v := range map[string][]float64{"mean": q.Mean, "std": q.Std, "std_latent": q.StdLatent, "lower95": q.Lower95, "upper95": q.Upper95} {
		for i, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 && strings.HasPrefix(name, "std") {
				return outcome{"done", fmt.Sprintf("prediction %d: %s is %g", i, name, x)}
			}
		}
	}
	return outcome{}
}

// failed returns the outcome of an error, which must have an exported type and must
// not stem from a panic.
func failed(step string, err error) outcome {
	if err == nil {
		return outcome{}
	}
	name := typeOf(err)
	o := outcome{end: step + ": " + name}
	var panicked *descent.PanicError
	switch {
	case errors.As(err, &panicked):
		o.wrong = fmt.Sprintf("%s: %v\n%s", step, err, panicked.Stack)
	case strings.Contains(err.Error(), "panic"):
		o.wrong = fmt.Sprintf("%s: %v", step, err)
	case name == "":
		o.wrong = fmt.Sprintf("%s: an error without an exported type: %v", step, err)
	}
	return o
}

// typeOf returns the name of the innermost exported type of this module in the tree
// of an error, or "".
func typeOf(err error) string {
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if name := typeOf(u.Unwrap()); name != "" {
			return name
		}
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			if name := typeOf(inner); name != "" {
				return name
			}
		}
	}
	if err == nil {
		return ""
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name := t.Name(); strings.HasPrefix(t.PkgPath(), "gpfit/") && name[0] >= 'A' && name[0] <= 'Z' {
		return strings.TrimPrefix(t.PkgPath(), "gpfit/") + "." + name
	}
	return ""
}

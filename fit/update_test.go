package fit

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/must"
)

// TestTrainingData checks that a fit of the rows of a model, from the model, is the fit
// that made it.
func TestTrainingData(t *testing.T) {
	plain := synthetic(60)
	known := plain
	for i := range 60 {
		known.NoiseVariance = append(known.NoiseVariance, float64(1+i%4))
	}
	groups := plain
	for i := range 60 {
		groups.NoiseGroup = append(groups.NoiseGroup, []string{"a", "b"}[i%2])
	}
	several := plain
	several.TargetName, several.TargetNames = "", []string{"one", "two"}
	for i := range 60 {
		several.Y = append(several.Y, several.Y[i]+float64(i%5))
	}
	for name, d := range map[string]problem.Data{"plain": plain, "known": known, "groups": groups, "targets": several} {
		d.Test = make([]bool, 60)
		d.Test[7] = true
		first := mustFit(t, d, problem.Options{Mean: "constant"})
		data, err := problem.TrainingData(modelOf(t, first))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if data.N != 59 || data.Row[7] != 8 {
			t.Errorf("%s: %d rows, %v", name, data.N, data.Row)
		}
		again, err := Evaluate(context.Background(), mustPrepare(t, data, problem.Options{From: first.Model}), backend, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if math.Abs(again.NLML-first.Report.NLML) > 1e-8*math.Abs(again.NLML) {
			t.Errorf("%s: NLML %v, the fit had %v", name, again.NLML, first.Report.NLML)
		}
	}
	both := known
	both.NoiseGroup = groups.NoiseGroup
	m := modelOf(t, mustFit(t, both, problem.Options{}))
	var de *problem.DataError
	if _, err := problem.TrainingData(m); !errors.As(err, &de) || !strings.Contains(err.Error(), "starting from this model") {
		t.Errorf("known noise and groups: %v", err)
	}
}

// TestUpdateReport checks the advice: none for rows that the model expects, and reasons
// for large errors, small errors and many rows.
func TestUpdateReport(t *testing.T) {
	all := synthetic(300)
	m := modelOf(t, mustFit(t, firstRowsOf(all, 150), problem.Options{Kernel: "rbf(ard)"}))
	advice := func(first, last int, shift func(i int) float64) string {
		add := gp.Addition{X: all.X[3*first : 3*last], N: last - first}
		for i := first; i < last; i++ {
			add.Y = append(add.Y, all.Y[i]+shift(i))
		}
		p, e := must.Get2(m.Extend(context.Background(), backend, add))(t)
		defer p.Close()
		r := must.Get(summary.NewUpdateReport(m, p.Model(), e))(t)
		if r.Tuned != 150 || r.N != 150+last-first {
			t.Errorf("report %+v", r)
		}
		return strings.Join(r.Advice, ";")
	}
	none := func(int) float64 { return 0 }
	if a := advice(150, 200, none); a != "" {
		t.Errorf("advice %q for rows like the others", a)
	}
	if a := advice(150, 200, func(i int) float64 { return 40 * float64(i%2) }); !strings.Contains(a, "larger than the model expects") {
		t.Errorf("advice %q for large errors", a)
	}
	if a := advice(150, 300, none); !strings.Contains(a, "tuned on 150 rows, and the model has 300 now") {
		t.Errorf("advice %q for many rows", a)
	}
}

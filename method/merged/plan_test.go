package merged_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/merged"
)

// TestPlan checks the plan, and the choice among the methods by it.
func TestPlan(t *testing.T) {
	methods := []device.Method{device.Dense{}, merged.Method{}}
	points := func(n, u int) *kernel.Points {
		return kernel.NewPoints(testcheck.Slice(n, func(i int) float64 { return float64(i % u) }), n, 1)
	}
	sorted := testcheck.Slice(300, func(i int) int { return i/3 + i%3*100 })
	chosen := func(method string, w device.Workload) string {
		t.Helper()
		all, _ := testcheck.Get2(device.Dispatch(context.Background(), device.Request{Device: "cpu", Method: method, Workload: w}, []device.Driver{cpu.Driver{}}, methods...))(t)
		defer all[0].Close()
		return all[0].Capabilities().Method
	}
	for _, c := range []struct {
		w    device.Workload
		want string
	}{
		{device.Workload{N: 300, D: 1, Points: points(300, 100)}, "merged"},
		{device.Workload{N: 300, D: 1, Points: points(300, 300)}, "dense"},
		{device.Workload{N: 300, D: 1, Points: points(300, 295)}, "dense"},
		{device.Workload{N: 300, D: 1}, "dense"},
		{device.Workload{}, "dense"},
		{device.Workload{N: 300, D: 1, Points: points(300, 100), Factor: true}, "dense"},
		{device.Workload{N: 300, D: 1, Points: points(300, 100), Blocks: []int{150, 300}}, "dense"},
		{device.Workload{N: 300, D: 1, Points: points(300, 100).Pick(sorted), Blocks: []int{150, 300}}, "merged"},
		{device.Workload{N: 300, D: 1, Points: points(300, 100), Diagonal: true}, "merged"},
	} {
		if got := chosen("", c.w); got != c.want {
			t.Errorf("chose %s for %+v, want %s", got, c.w, c.want)
		}
	}
	if got := chosen("merged", device.Workload{N: 300, D: 1, Points: points(300, 300)}); got != "merged" {
		t.Errorf("method %s in place of merged, which was asked for", got)
	}
	_, _, err := device.Dispatch(context.Background(), device.Request{Device: "cpu", Method: "merged", Workload: device.Workload{N: 3, D: 1, Factor: true}}, []device.Driver{cpu.Driver{}}, methods...)
	testcheck.Fail[*device.UnsupportedError](t, err, "merged", "factor")
	if rows := (merged.Method{}).MaxRows(1 << 30); rows < 1e6 || rows > 1<<27 {
		t.Errorf("room for %d rows in a gibibyte", rows)
	}
	b := open(t)
	plan, inner := b.Plan(device.Workload{N: 3000, D: 1, Points: points(3000, 100)}), b.Plan(device.Workload{N: 100, D: 1})
	if more := plan.HostBytes() - inner.HostBytes(); plan.N != 3000 || plan.FlopsGradient != inner.FlopsGradient || more <= 0 || more > 1<<19 {
		t.Errorf("plan %+v, of the different rows %+v", plan, inner)
	}
}

// TestFormAgain checks that results of other parameters and other folds are not taken for new ones.
func TestFormAgain(t *testing.T) {
	tab := newTable(t, 5)
	n, places := tab.n(), tab.x.Places()
	tab.x, tab.noise = tab.x.Pick(slices.Concat(places...)), []float64{0.2}
	got, want := tab.workspaces(t, open(t))
	var ends []int
	for k := range places {
		ends = append(ends, len(slices.Concat(places[:k+1]...)))
	}
	middle := device.NewBlocks(ends)
	_ = middle.Each(func(first, m int, elements []float64) error {
		for i := range m {
			elements[i*m+i] = tab.y[first+i]
		}
		return nil
	})
	inverse(t, tab, got)
	blocks := got.(device.BlockInverse)
	testcheck.Do(t, blocks.InverseBlocks(t.Context(), device.NewBlocks(ends)))
	tab.theta, tab.noise = testcheck.Slice(len(tab.theta), func(i int) float64 { return 2 * tab.theta[i] }), []float64{0.4}
	for _, w := range []device.Workspace{got, want} {
		testcheck.Do(t, w.Form(t.Context(), tab.prog, tab.theta, tab.noise))
	}
	checkContractions(t, tab, got, want)
	both := func(w device.Workspace) []float64 {
		grad, diag := make([]float64, tab.prog.NumParams), make([]float64, n)
		testcheck.Do(t, w.Contract(t.Context(), device.Adjoint{Blocks: middle}, tab.prog, tab.theta, grad, diag))
		return slices.Concat(grad, diag)
	}
	compare(t, "blocks after Form", both(got), both(want), close1e10)
	testcheck.Do(t, blocks.InverseBlocks(t.Context(), device.NewBlocks([]int{n})))
	compare(t, "blocks after other folds", both(got), both(want), close1e10)

	x := kernel.NewPoints([]float64{3, 3, 0, 5}, 4, 1)
	w := testcheck.Get(open(t).NewWorkspace(t.Context(), x))(t)
	defer w.Close()
	prog := kerneltest.Program(t, "linear", 1)
	err := w.Form(t.Context(), prog, slices.Repeat([]float64{1}, prog.NumParams), []float64{1, 1, 0, 1})
	if npd, ok := errors.AsType[*device.NotPDError](err); !ok || npd.Minor != 3 || npd.N != 4 {
		t.Errorf("a row of zeros: %v", err)
	}
}

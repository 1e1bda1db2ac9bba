package gp

import (
	"encoding/json"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/method/tree"
)

// TestApproximationFile reads a file in the tenth schema version, refuses impossible numbers, and allows weights as large an error
// as the elements have by which they were computed.
func TestApproximationFile(t *testing.T) {
	fresh := newModel(t, 12)
	fresh.Approximation = &Approximation{Method: "tree", Bound: new(7e-4), Tolerance: 1e-3, Tightened: 1, Element: 1e-7, Rank: 5, RowsVerified: 12}
	m := loadsAs(t, "v10_tree", fresh)
	w := testcheck.Get(m.Workload())(t)
	if math.Abs(w.Tolerance-5e-5) > 1e-18 || w.State.Method != "tree" {
		t.Errorf("predictions have the tolerance %v of the method %q", w.Tolerance, w.State.Method)
	}
	if m.Approximation.Loose() || m.Approximation.Text() != "tree: blocks of low rank, NLML within 0.0007 nats of exact" {
		t.Errorf("%+v: %s", m.Approximation, m.Approximation.Text())
	}
	// Errors of all elements of up to 1e-7 of the variance v change a row by up to 1e-7·v·Σ|α|, as a change of one weight by 1e-7·Σ|α| does.
	size := 0.0
	for _, v := range m.Alpha {
		size += math.Abs(v)
	}
	for _, share := range []float64{0.1, 100} {
		m.Alpha[3] += share * 1e-7 * size
		if err := m.CheckWeights(t.Context()); (err == nil) != (share < 1) {
			t.Errorf("weights off by %v of the error of the elements: %v", share, err)
		}
	}
	for name, change := range map[string]func(a *Approximation){
		"method": func(a *Approximation) { a.Method = "" }, "bound": func(a *Approximation) { a.Bound = new(-1.0) }, "checked": func(a *Approximation) { a.RowsVerified = 0 }, "missed": func(a *Approximation) { a.Missed = 5 }, "tolerance": func(a *Approximation) { a.Tolerance = 0 },
		"tightened": func(a *Approximation) { a.Tightened = 1e9 }, "element": func(a *Approximation) { a.Element = -1 },
	} {
		broken, a := *fresh, *fresh.Approximation
		change(&a)
		if broken.Approximation = &a; broken.Validate() == nil {
			t.Errorf("%s: %+v is valid", name, a)
		}
	}
	a := Approximation{Method: "tree", Bound: new(2e-3), Tolerance: 1e-3, Element: device.LeastTolerance, RowsVerified: 9}
	text := a.Advice()
	a.Bound, a.Element = nil, 1
	testcheck.Words(t, text+a.Advice()+string(testcheck.Get(json.Marshal(a))(t)), "off by 0.002 nats, and 0.001 were wanted", "tolerance changes nothing", "nobody knows", "makes the blocks better", `"bound":null`)
	if none := (*Approximation)(nil); none.Loose() || none.Advice() != "" {
		t.Error("an exact method may be off")
	}
}

// TestExtendWithin compares updates by a method with a bound, and by an exact one, with a fresh factorization.
func TestExtendWithin(t *testing.T) {
	b := methodtest.Open(t, tree.Method{})
	for name, whole := range variants(t, 300) {
		part, add := addition(t, whole, 9)
		part.Approximation = &Approximation{Method: tree.Name, Tolerance: 1e-3}
		want := settled(t, whole).NLML
		p, _ := testcheck.Get2(part.Extend(t.Context(), b, add))(t)
		a := p.whole.Approximation
		if off := math.Abs(p.whole.NLML - want); a == nil || a.RowsVerified != 300 || !(off <= *a.Bound+1e-12*math.Abs(want)) {
			t.Errorf("%s: off by %g, %+v", name, off, a)
		}
		p.Close()
		p, _ = testcheck.Get2(part.Extend(t.Context(), backend, add))(t)
		if p.Close(); p.whole.Approximation != nil {
			t.Errorf("%s: an exact update has %+v", name, p.whole.Approximation)
		}
	}
}

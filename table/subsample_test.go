package table

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// counting returns a table of n rows that hold their own number, in all kinds of
// columns. Every gap-th row lacks a value if gap is not 0.
func counting(n, gap int) string {
	var b strings.Builder
	b.WriteString("a,b,sd,group,y\n")
	for i := range n {
		if gap > 0 && i%gap == gap-1 {
			fmt.Fprintf(&b, "%d,,%d,g%d,%d\n", i, i, i, i)
			continue
		}
		fmt.Fprintf(&b, "%d,-%d,%d,g%d,%d\n", i, i, i, i, i)
	}
	return b.String()
}

func TestSubsample(t *testing.T) {
	const n, size = 5000, 300
	for _, gap := range []int{0, 7} {
		opts := Options{Subsample: size, Seed: 3, Extra: []string{"sd"}, ExtraText: []string{"group"}}
		kept := n
		if gap > 0 {
			opts.Missing = MissingDrop
			kept -= n / gap
		}
		got := testcheck.Get(ReadFrom(strings.NewReader(counting(n, gap)), "T", opts))(t)
		if got.N != size || len(got.Row) != size || got.SourceRows != n || !slices.IsSorted(got.Row) {
			t.Fatalf("%d rows of %d: %v", got.N, got.SourceRows, got.Row)
		}
		for i, row := range got.Row {
			v := float64(row)
			if i > 0 && row == got.Row[i-1] || got.X[2*i] != v || got.X[2*i+1] != -v || got.Y[i] != v ||
				got.Extra["sd"][i] != v || got.ExtraText["group"][i] != fmt.Sprint("g", row) || got.Line[i] != row+2 {
				t.Fatalf("row %d is not whole, or there twice", row)
			}
		}
		want := fmt.Sprintf("subsample: 300 of %d rows drawn at random (seed 3)", kept)
		if w := got.Warnings; len(w) == 0 || w[len(w)-1] != want {
			t.Errorf("warnings %q, want %q", w, want)
		}
		again, err := ReadFrom(strings.NewReader(counting(n, gap)), "T", opts)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Error("the same seed gave another sample")
		}
		opts.Seed++
		if other, err := ReadFrom(strings.NewReader(counting(n, gap)), "T", opts); err != nil || slices.Equal(other.Row, got.Row) {
			t.Errorf("another seed gave the same sample (%v)", err)
		}
	}
}

// TestSubsampleOfAll requests as many rows as there are, and more.
func TestSubsampleOfAll(t *testing.T) {
	whole := testcheck.Get(ReadFrom(strings.NewReader(counting(50, 0)), "T", Options{Features: []string{"0-2"}}))(t)
	for _, size := range []int{50, 51, 100000} {
		got, err := ReadFrom(strings.NewReader(counting(50, 0)), "T", Options{Features: []string{"0-2"}, Subsample: size})
		if err != nil || !reflect.DeepEqual(got, whole) {
			t.Errorf("%d of 50: got %+v, %v", size, got, err)
		}
	}
}

// TestSubsampleIsUniform counts how often each of 20 rows is among 5 drawn, over many
// seeds: binomial with p = 1/4. One row in 2·10⁶ would exceed five standard
// deviations; the seeds are fixed.
func TestSubsampleIsUniform(t *testing.T) {
	const n, size, seeds = 20, 5, 4000
	var times [n]int
	text := counting(n, 0)
	for seed := range uint64(seeds) {
		got := testcheck.Get(ReadFrom(strings.NewReader(text), "T", Options{Subsample: size, Seed: seed, Features: []string{"a"}}))(t)
		for _, row := range got.Row {
			times[row]++
		}
	}
	p := float64(size) / n
	for row, k := range times {
		if dev := (float64(k) - p*seeds) / math.Sqrt(seeds*p*(1-p)); math.Abs(dev) > 5 {
			t.Errorf("row %d was drawn %d times of %d: %.1f standard deviations off", row, k, seeds, dev)
		}
	}
}

// TestSubsampleWhole checks that marked rows stay besides the drawn ones, that the draw among the
// others equals the draw of a table without the marked rows, and that any row may be drawn.
func TestSubsampleWhole(t *testing.T) {
	const n, size = 400, 30
	extra, texts := []string{"sd"}, []string{"group"}
	whole := make([]bool, n)
	var others strings.Builder
	lines := strings.SplitAfter(counting(n, 0), "\n")
	others.WriteString(lines[0])
	for i := range whole {
		if whole[i] = i%5 == 2; !whole[i] {
			others.WriteString(lines[i+1])
		}
	}
	got := testcheck.Get(ReadFrom(strings.NewReader(counting(n, 0)), "T", Options{Subsample: size, Seed: 3, Whole: whole, Extra: extra, ExtraText: texts}))(t)
	plain := testcheck.Get(ReadFrom(strings.NewReader(others.String()), "T", Options{Subsample: size, Seed: 3, Extra: extra, ExtraText: texts}))(t)
	var drawn []float64
	kept := 0
	for i, row := range got.Row {
		if i > 0 && row <= got.Row[i-1] || got.Y[i] != float64(row) || got.X[2*i] != float64(row) {
			t.Fatalf("row %d is not whole, or not in order", row)
		}
		if whole[row] {
			kept++
		} else {
			drawn = append(drawn, got.Y[i])
		}
	}
	if kept != n/5 || got.N != n/5+size || !slices.Equal(drawn, plain.Y) {
		t.Errorf("%d rows, %d of them kept; drawn %v, without the kept rows %v", got.N, kept, drawn, plain.Y)
	}
	want := "subsample: 30 of 320 training rows drawn at random (seed 3); all 80 held-out rows are kept"
	if w := got.Warnings; len(w) != 1 || w[0] != want {
		t.Errorf("warnings %q", w)
	}
	// Few rows outside: nothing is drawn.
	got = testcheck.Get(ReadFrom(strings.NewReader(counting(n, 0)), "T", Options{Subsample: 320, Seed: 3, Whole: whole, Extra: extra, ExtraText: texts}))(t)
	if got.N != n || got.Row != nil || len(got.Warnings) > 0 {
		t.Errorf("%d rows, %v, %q", got.N, got.Row, got.Warnings)
	}
}

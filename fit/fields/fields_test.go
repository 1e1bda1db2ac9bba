package fields

import (
	"math"
	"testing"

	"gpfit/internal/testcheck"
)

type inner struct {
	RMSE float64 `json:"rmse"`
}

type result struct {
	inner
	Kernel   string             `json:"kernel"`
	Coverage *float64           `json:"coverage95,omitempty"`
	Loo      *inner             `json:"loo"`
	Means    map[string]float64 `json:"means"`
	N        int                `json:"n"`
	Hidden   int                `json:"-"`
}

// TestOf checks heads and cells: values within structs, pointers and maps, and missing ones.
func TestOf(t *testing.T) {
	share := 0.955
	results := []result{
		{inner: inner{1.23456789}, Kernel: "rbf", Coverage: &share, Loo: &inner{-2}, Means: map[string]float64{"nlml_per_row": 0.5}, N: 1000000},
		{inner: inner{math.Inf(1)}, Kernel: "größer"},
	}
	table := Of(results, "#", "kernel", "rmse", "coverage95", "loo.rmse", "means.nlml_per_row", "n")
	table.Rows[1].Note = "(noted)"
	want := "" +
		"  #  kernel    RMSE  in 95 %  LOO RMSE  NLML per row        n\n" +
		"  0     rbf  1.2346   95.5 %        -2        0.5000  1000000\n" +
		"  1  größer       ∞        -         -             -        0  (noted)\n"
	if got := table.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := Named("rmse").FullText(1.23456789), "1.23457"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Named("x.y.rmse"); got.Label != "RMSE" || got.Path != "x.y.rmse" {
		t.Errorf("%+v", got)
	}
	testcheck.Words(t, panicked(func() { Of(results, "rmsd") }), "has no rmsd")
}

// panicked returns the text of a panic.
func panicked(f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

// TestText checks columns at the left, at the edge, and with a layout of their own.
func TestText(t *testing.T) {
	table := Table{Flush: true, Heads: []Head{{Text: "name", Left: true}, {Text: "wide", Layout: "%9s"}, {Text: "last", Left: true}}}
	table.Add("a", "1", "x")
	table.Add("long name", "1234567890", "longer than last")
	table.Add("b", "")
	want := "name          wide  last\na                1  x\nlong name1234567890  longer than last\nb                 \n"
	if got := table.Text(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestAll checks that each field is there once and says what a table needs.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.Path] || f.Label == "" {
			t.Errorf("%+v", f)
		}
		seen[f.Path] = true
	}
	for _, path := range Scores {
		if !seen[path] {
			t.Errorf("no field has the path %s", path)
		}
	}
}

package table

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gpfit/internal/must"
)

const weather = "site,temp,rain,sd,wind\n" +
	"a,1,10,0.1,5\n" +
	"b,2,,0.2,6\n" +
	"a,3,30,0.3,NA\n" +
	"c,4,40,0.4,8\n"

func TestExtraColumns(t *testing.T) {
	got, err := ReadFrom(strings.NewReader(weather), "T", Options{
		Target: "temp", Features: []string{"wind"}, Extra: []string{"sd", "1", "sd"}, ExtraText: []string{"site"}, Missing: MissingDrop,
	})
	if err == nil {
		t.Fatalf("the target was taken as an extra column: %+v", got)
	}
	got, err = ReadFrom(strings.NewReader(weather), "T", Options{
		Target: "temp", Extra: []string{"sd", "-2", "sd"}, ExtraText: []string{"site", "0"}, Missing: MissingDrop,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.FeatureNames, []string{"rain", "wind"}) || !reflect.DeepEqual(got.X, []float64{10, 5, 40, 8}) || !reflect.DeepEqual(got.Y, []float64{1, 4}) {
		t.Errorf("features %q: %v, targets %v", got.FeatureNames, got.X, got.Y)
	}
	sd, site := []float64{0.1, 0.4}, []string{"a", "c"}
	if want := map[string][]float64{"sd": sd, "-2": sd}; !reflect.DeepEqual(got.Extra, want) {
		t.Errorf("extra columns %v", got.Extra)
	}
	if want := map[string][]string{"site": site, "0": site}; !reflect.DeepEqual(got.ExtraText, want) {
		t.Errorf("labels %v", got.ExtraText)
	}
	if !reflect.DeepEqual(got.Row, []int{0, 3}) || !reflect.DeepEqual(got.Line, []int{2, 5}) || got.SourceRows != 4 {
		t.Errorf("rows %v, lines %v of %d", got.Row, got.Line, got.SourceRows)
	}
	want := []string{`left out 2 of 4 rows: missing values (first: T:3: column 3 ("rain"): empty cell)`}
	if !reflect.DeepEqual(got.Warnings, want) {
		t.Errorf("warnings %q", got.Warnings)
	}

	// A column listed as a feature is a feature, even if it has another use.
	got, err = ReadFrom(strings.NewReader("a,sd,y\n1,2,3\n"), "T", Options{Features: []string{"a", "sd"}, Extra: []string{"sd"}})
	if err != nil || !reflect.DeepEqual(got.X, []float64{1, 2}) || got.Extra["sd"][0] != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSeveralTargets(t *testing.T) {
	got := must.Get(ReadFrom(strings.NewReader(weather), "T", Options{Features: []string{"sd"}, Targets: []string{"rain", "-1", "temp"}}))(t)
	if got.Y != nil || got.TargetName != "" || got.Warnings != nil || got.Row != nil || got.N != 4 {
		t.Errorf("got %+v", got)
	}
	if !reflect.DeepEqual(got.TargetNames, []string{"rain", "wind", "temp"}) {
		t.Errorf("targets %q", got.TargetNames)
	}
	missing := [][]bool{{false, true, false, false}, {false, false, true, false}, make([]bool, 4)}
	if !reflect.DeepEqual(got.Missing, missing) {
		t.Errorf("missing %v", got.Missing)
	}
	nan := math.NaN()
	if s := fmt.Sprint(got.Targets); s != fmt.Sprint([][]float64{{10, nan, 30, 40}, {5, 6, nan, 8}, {1, 2, 3, 4}}) {
		t.Errorf("targets %s", s)
	}
}

func TestSelectionErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"no such extra", weather, Options{Extra: []string{"winds"}}, `T:1: no column named "winds" (did you mean "wind"?); columns: "site", "temp", "rain", "sd", "wind"`},
		{"extra is the target", weather, Options{Extra: []string{"wind"}}, `T:1: column 5 ("wind"): "wind" is selected for another use, but is also the target; name another column as the target`},
		{"extra is no number", weather, Options{Target: "temp", Features: []string{"sd"}, Extra: []string{"site"}}, `T:2: column 1 ("site"): not a number: "a"`},
		{"extra is missing", weather, Options{Target: "temp", Features: []string{"sd"}, Extra: []string{"wind"}}, `T:4: column 5 ("wind"): not a number: "NA" (option missing drop leaves out such rows)`},
		{"label is missing", "a,g,y\n1,x,2\n1,,2\n", Options{ExtraText: []string{"g"}}, `T:3: column 2 ("g"): empty cell (option missing drop leaves out such rows)`},
		{"nothing but extras", "a,y\n1,2\n", Options{Extra: []string{"a"}}, "T:1: no feature column: every column has another use"},
		{"target twice", weather, Options{Targets: []string{"rain", "2"}}, `T:1: column 3 ("rain"): listed twice as a target (again by "2")`},
		{"target is a feature", weather, Options{Targets: []string{"rain"}, Features: []string{"2-3"}}, `T:1: column 3 ("rain"): a target is also listed as a feature`},
		{"target is text", weather, Options{Targets: []string{"site"}, Features: []string{"sd"}}, `T:2: column 1 ("site"): not a number: "a"`},
		{"one target and several", weather, Options{Target: "temp", Targets: []string{"rain"}}, "T:1: several targets cannot be combined with a single target or none"},
		{"wrong, though missing are dropped", "a,b,y\n1,,2\nNA,x,3\n", Options{Missing: MissingDrop}, `T:3: column 2 ("b"): not a number: "x"`},
		{"infinite is not missing", "a,y\n1,2\ninf,3\n", Options{Missing: MissingDrop}, `T:3: column 1 ("a"): not a finite number: "inf"`},
		{"all missing", "a,y\n1,\n.,3\n", Options{Missing: MissingDrop}, `T: no rows left: all 2 have missing values (first: T:2: column 2 ("y"): empty cell)`},
	} {
		got, err := ReadFrom(strings.NewReader(c.text), "T", c.opts)
		var e *Error
		if !errors.As(err, &e) || e.Error() != c.want || got != nil {
			t.Errorf("%s: got %v, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

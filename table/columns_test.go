package table

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
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
	testcheck.Do(t, err)
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
	got := testcheck.Get(ReadFrom(strings.NewReader(weather), "T", Options{Features: []string{"sd"}, Targets: []string{"rain", "-1", "temp"}}))(t)
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

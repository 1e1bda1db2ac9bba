package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/show/page"
)

// onEarth returns rows of a latitude, a column without effect and a longitude.
func onEarth(n int) problem.Data {
	d := problem.Data{N: n, D: 3, FeatureNames: []string{"lat", "same", "lon"}, TargetName: "y"}
	for i := range n {
		lat, lon := math.Mod(37*float64(i), 80), math.Mod(71*float64(i), 350)
		d.X = append(d.X, lat, 1, lon)
		d.Y = append(d.Y, math.Sin(lat/20)+math.Cos(lon/40)+0.05*math.Cos(float64(i*i)))
	}
	return d
}

// TestSurface compares the grid of a map with predictions of single rows, and the places of residuals with the table.
func TestSurface(t *testing.T) {
	d := onEarth(70)
	_, o := outcome(t, d, problem.Options{Mean: "zero", Kernel: "matern52(sphere, dims=[lat, lon])"})
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.columns = testcheck.Get(findColumns(t.Context(), s))(t)
	m := &surface{s}
	right, up := m.axesOfMap()
	if right.Name != "lon" || up.Name != "lat" {
		t.Fatalf("%s to the right, %s upwards", right.Name, up.Name)
	}
	got := testcheck.Get(m.over(t.Context(), right, up, []float64{10, 200}, []float64{-5, 30, 60}))(t)[0]
	for i, row := range [][]float64{{-5, 1, 10}, {-5, 1, 200}, {30, 1, 10}, {30, 1, 200}, {60, 1, 10}, {60, 1, 200}} {
		want := testcheck.Get(o.Posterior().PredictTargets(t.Context(), row, 1, gp.RowNoise{}))(t)[0]
		testcheck.Within(t, got.Mean[i], want.Mean[0], 1e-12, "surface")
		testcheck.Within(t, got.StdLatent[i], want.StdLatent[0], 1e-12, "its deviation")
	}
	for i := range d.N {
		if row := m.trainingRow(i); row[0] != d.X[3*i] || row[2] != d.X[3*i+2] {
			t.Errorf("row %d lies at %v", i, row)
		}
	}
	p, html := written(t, subjectOf(t, o))
	testcheck.Words(t, html, "Fitted surface of y over lon and lat", "Standardized residuals of y over lon and lat")
	if pictures(p)["Map"] != 3 {
		t.Errorf("pictures %v", pictures(p))
	}
}

// TestNoSurface checks that there is no map of a season that its places cannot show, of one column or of a category.
func TestNoSurface(t *testing.T) {
	d := problem.Data{N: 300, D: 2, FeatureNames: []string{"hour", "b"}, TargetName: "y"}
	for i := range d.N {
		d.X = append(d.X, float64(i), math.Mod(7*float64(i), 5))
		d.Y = append(d.Y, math.Sin(math.Pi*float64(i)/3)+0.1*math.Cos(float64(i*i)))
	}
	for name, c := range map[string]struct {
		data problem.Data
		o    problem.Options
		note string
	}{
		"season":   {d, problem.Options{Kernel: "matern12", Mean: "constant + seasonal(6, 1, dims=hour)"}, "cannot show the shortest season"},
		"column":   {table(40), problem.Options{Mean: "zero", Kernel: "rbf(dims=0)"}, ""},
		"category": {encoded(), problem.Options{Mean: "zero", Kernel: "rbf(ard)"}, ""},
	} {
		_, o := outcome(t, c.data, c.o)
		p, _ := written(t, subjectOf(t, o))
		at := slices.IndexFunc(p.Sections, func(s page.Section) bool { return s.Title == "Map" })
		if notes := strings.Join(p.Sections[at].Notes, " "); len(p.Sections[at].Pictures) > 0 && name != "column" || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %d pictures, %s", name, len(p.Sections[at].Pictures), notes)
		}
	}
}

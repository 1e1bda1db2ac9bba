package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/show/page"
	"gpfit/table/feature"
)

// hostile is a name that a page must escape.
const hostile = `<script>alert("1")</script>`

// table returns rows of two columns of numbers and a target with noise.
func table(n int) problem.Data {
	rng := rand.New(rand.NewPCG(1, 2))
	d := problem.Data{N: n, D: 2, FeatureNames: []string{hostile, "b"}, TargetName: "y & z"}
	for i := range n {
		x := 6 * float64(i) / float64(n)
		d.X, d.Y = append(d.X, x, rng.NormFloat64()), append(d.Y, 10+3*math.Sin(x)+0.3*rng.NormFloat64())
	}
	return d
}

// outcome fits a table on the CPU.
func outcome(t *testing.T, d problem.Data, o problem.Options) (*tuning.Job, *fit.Outcome) {
	t.Helper()
	job := testcheck.Get(fit.Prepare(d, o, problem.Events{}))(t)
	b := testcheck.Get(cpu.New(device.Options{}))(t)
	out := testcheck.Get(fit.Run(t.Context(), job, b))(t)
	out.Record = summary.ModelRecord{Program: "gpfit test", Data: "/home/me/t.csv", Options: map[string]string{"split-mask": "/home/me/mask.csv:1"}}
	testcheck.Do(t, out.WriteModel(io.Discard, false))
	t.Cleanup(func() {
		out.Close()
		_ = b.Close()
	})
	return job, out
}

// subjectOf returns the subject of a page about an outcome.
func subjectOf(t *testing.T, o *fit.Outcome) Subject {
	t.Helper()
	record := testcheck.Get(summary.ReadRecord(o.Model.Record))(t)
	return Subject{Name: "model", Posterior: o.Posterior(), Record: record}
}

// written returns the page of a subject as HTML.
func written(t *testing.T, about Subject) (*page.Page, string) {
	t.Helper()
	p := testcheck.Get(Page(t.Context(), about))(t)
	var b strings.Builder
	testcheck.Do(t, p.Write(&b))
	return p, b.String()
}

// pictures returns the number of pictures of a page by section.
func pictures(p *page.Page) map[string]int {
	out := map[string]int{}
	for _, s := range p.Sections {
		out[s.Title] = len(s.Pictures)
	}
	return out
}

// remarks returns the warnings of a page as a text.
func remarks(p *page.Page) string {
	var out []string
	for _, r := range p.Sections[0].Points {
		out = append(out, r.Text+" "+r.Advice)
	}
	return strings.Join(out, "\n")
}

var namespaces = regexp.MustCompile(`xmlns(:xlink)?="[^"]*"`)

// images are grids of colours, whose text has no meaning.
var images = regexp.MustCompile(`data:image/png;base64,[^"]*`)

var scripts = regexp.MustCompile(`(?s)<script( type="application/json")?>(.*?)</script>`)

// selfContained fails the test if a page loads anything, has a script of others, or names a folder.
func selfContained(t *testing.T, html string) {
	t.Helper()
	html = namespaces.ReplaceAllString(scripts.ReplaceAllString(images.ReplaceAllString(html, ""), ""), "")
	for _, not := range []string{"<script", "<link", "src=", "@import", "url(", "http:", "https:", "/home", "NaN", "%!"} {
		if strings.Contains(html, not) {
			t.Errorf("the page has %q: %.80s", not, html[strings.Index(html, not):])
		}
	}
	if len(html) > 3<<19 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

// TestLeaveOneOut checks a page from the model alone: it says that the scores are
// leave-one-out, and its numbers equal gp's.
func TestLeaveOneOut(t *testing.T) {
	_, o := outcome(t, table(60), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: restarts(3)})
	p, html := written(t, subjectOf(t, o))
	selfContained(t, html)
	left := testcheck.Get(o.Posterior().LeaveOneOut(t.Context()))(t)
	s := left.Summary()
	testcheck.Words(t, html,
		o.Report.Verdict.Headline[1:]+".", fmt.Sprintf("on 60 training rows left out one by one the error (RMSE) is %.4g, ", s.RMSE), fmt.Sprintf("the 95 %% intervals hold %.1f %% of these rows.", 100*s.Coverage95),
		"Leave-one-out predicts each training row from all the others", "<td>60</td>", fields.Named("nlpd").Text(s.NLPD), number(s.RMSE), "mask.csv:1", "of t.csv, by gpfit test",
		"&lt;script&gt;alert", "starts led to this optimum", `class="bar"`, "The fit is converged",
		`<td class="words">lengthscale[b]</td>`, `<td class="words">noise_variance</td>`)
	if got := pictures(p); got["Predictions"] != 4 || got["Effect of each column"] != 2 || got["Terms of the kernel"] != 0 {
		t.Errorf("pictures %v", got)
	}
}

func restarts(n int) (s hyperopt.Settings) {
	s.Restarts = n
	return s
}

// TestHeldOut checks that the page scores held-out rows with the numbers of the fit.
func TestHeldOut(t *testing.T) {
	job, o := outcome(t, table(80), problem.Options{Mean: "zero", Kernel: "rbf(ard)", HoldOut: 0.5})
	about := subjectOf(t, o)
	x, noise, observed, numbers := fit.HeldOut(job.Prepared)
	if len(numbers) != 40 || len(observed) != 1 || len(observed[0]) != 40 || len(x) != 80 {
		t.Fatalf("%d rows, %d numbers", len(numbers), len(x))
	}
	about.Rows = &Scored{Of: summary.HeldOutRows, Rows: dataset.Rows{X: x, N: 40, Total: 40, Noise: noise, Observed: observed}, Numbers: numbers}
	about.Rows.Predictions = testcheck.Get(gp.Predict(t.Context(), o.Posterior(), x, 40, noise))(t)
	_, html := written(t, about)
	selfContained(t, html)
	test := o.Report.Test
	testcheck.Words(t, html, o.Report.Verdict.Headline[1:], "on 40 held-out rows", fmt.Sprintf("%.4g", test.RMSE),
		number(test.RMSE), fields.Named("nlpd").Text(test.NLPD))
}

// TestFarTrainingRow checks that a page names training rows that are far off, whereas the verdict advises
// option robust by the rows that it rests on, here the rows that the page is given.
func TestFarTrainingRow(t *testing.T) {
	d := table(80)
	d.Test, d.Y[10] = make([]bool, 80), 60
	for i := 40; i < 80; i += 2 {
		d.Test[i] = true
	}
	_, o := outcome(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	about := subjectOf(t, o)
	p, html := written(t, about)
	testcheck.Words(t, remarks(p), "1 row is far from the prediction, by more than 4 standard deviations: row 10 (60")
	testcheck.Words(t, html, o.Report.Verdict.Headline[1:])
	if strings.Contains(html, "robust") {
		t.Errorf("the page advises option robust, the fit does not: %s", o.Report.Verdict.Text())
	}
	y := slices.Clone(d.Y[60:70])
	y[3], y[7] = 500, 400
	about.Rows = &Scored{Of: "given rows", Rows: dataset.Rows{X: d.X[2*60 : 2*70], N: 10, Total: 10, Observed: [][]float64{y}}}
	about.Rows.Predictions = testcheck.Get(gp.Predict(t.Context(), o.Posterior(), about.Rows.Rows.X, 10, gp.RowNoise{}))(t)
	_, html = written(t, about)
	testcheck.Words(t, html, "2 rows are far from the prediction: option robust=true")
}

// TestMixture checks that the page counts the rows inside the quantiles of the mixture over
// draws of the parameters, and prints the log density of the mixture.
func TestMixture(t *testing.T) {
	_, o := outcome(t, table(8), problem.Options{Mean: "zero", Kernel: "rbf", Posterior: problem.Laplace, PosteriorDraws: 20})
	b := testcheck.Get(cpu.New(device.Options{}))(t)
	defer b.Close()
	mixture := testcheck.Get(gp.NewMixture(t.Context(), o.Model, b, 0))(t)
	defer mixture.Close()
	d, about := table(151), subjectOf(t, o)
	about.Rows = &Scored{Of: "other rows", Rows: dataset.Rows{X: d.X, N: d.N, Total: d.N, Observed: [][]float64{d.Y}}}
	about.Rows.Predictions = testcheck.Get(mixture.Predict(t.Context(), d.X, d.N, gp.RowNoise{}))(t)
	p := about.Rows.Predictions[0]
	nlpd, shares, normal := 0.0, []any{}, 0
	for _, probability := range []float64{0.5, 0.9, 0.95} {
		lower, upper := p.Interval(probability)
		count := 0
		for i, y := range d.Y {
			if lower[i] <= y && y <= upper[i] {
				count++
			}
		}
		shares = append(shares, percent(float64(count)/float64(d.N)))
	}
	for i, y := range d.Y {
		density := 0.0
		for _, part := range p.Parts {
			z := (y - part.Mean[i]) / part.Std[i]
			density += math.Exp(-z*z/2) / (part.Std[i] * math.Sqrt(2*math.Pi)) / float64(len(p.Parts))
		}
		nlpd -= math.Log(density) / float64(d.N)
		if math.Abs(y-p.Mean[i]) <= 1.959963984540054*p.Std[i] {
			normal++
		}
	}
	if percent(float64(normal)/float64(d.N)) == shares[2] {
		t.Error("the normal distribution with the moments of the mixture covers as many rows")
	}
	_, html := written(t, about)
	selfContained(t, html)
	testcheck.Words(t, html,
		fmt.Sprintf("the 95 %% intervals hold %s of these rows", shares[2]), "<td>"+fields.Named("nlpd").Text(nlpd)+"</td>", "its z has the same probability",
		fmt.Sprintf("%s of rows in the 50 %% interval, %s in the 90 %% interval, %s in the 95 %% interval", shares...))
}

// TestNewScored checks that training rows are recognized by their numbers, also where
// rows of the table have gaps, and that another table is scored whole.
func TestNewScored(t *testing.T) {
	d := table(40)
	_, o := outcome(t, d, problem.Options{Mean: "zero", Kernel: "rbf", HoldOut: 0.25})
	all := func() dataset.Rows {
		return dataset.Rows{X: append([]float64(nil), d.X...), N: 40, Total: 40, Observed: [][]float64{append([]float64(nil), d.Y...)}}
	}
	s := NewScored(o.Model, "t.csv", all())
	if s.Rows.N != 10 || len(s.Numbers) != 10 || len(s.Notes) != 1 {
		t.Errorf("%d rows, %q", s.Rows.N, s.Notes)
	}
	for i, number := range s.Numbers {
		if s.Rows.Observed[0][i] != d.Y[number] {
			t.Errorf("row %d is not row %d of the table", i, number)
		}
	}
	other := all()
	other.Observed[0][o.Model.Row(3)]++ // one row differs: another table
	if s := NewScored(o.Model, "t.csv", other); s.Rows.N != 40 || len(s.Notes) != 0 {
		t.Errorf("%d rows, %q", s.Rows.N, s.Notes)
	}
	_, whole := outcome(t, d, problem.Options{Mean: "zero", Kernel: "rbf"})
	if s := NewScored(whole.Model, "t.csv", all()); s.Rows.N != 0 {
		t.Errorf("%d rows are left", s.Rows.N)
	}
	// A blank row in front: the number of a row is not its place among the others.
	gaps := all()
	gaps.Total, gaps.Blank = 41, append([]bool{true}, make([]bool, 40)...)
	if s := NewScored(whole.Model, "t.csv", gaps); s.Rows.N != 40 || s.Numbers[0] != 1 || !strings.Contains(s.Notes[0], "1 of 41 rows of t.csv have missing values") {
		t.Errorf("%d rows from %d, %q", s.Rows.N, s.Numbers[0], s.Notes)
	}
}

// kind is a table with options of a fit, and the words of its page.
type kind struct {
	data    problem.Data
	options problem.Options
	want    []string
}

// kinds returns tables and options of every kind of model.
func kinds() map[string]kind {
	out := map[string]kind{}
	several := table(50)
	several.TargetName, several.TargetNames = "", []string{"p", "q"}
	for _, y := range several.Y[:50] {
		several.Y = append(several.Y, 100-5*y)
	}
	out["several targets"] = kind{several, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}, []string{"on 50 training rows left out one by one", "q: Calibration"}}
	out["additive"] = kind{table(50), problem.Options{Mean: "zero", Kernel: "rbf(dims=0) + linear(dims=1)"}, []string{"Terms of the kernel", "rbf(dims=", `aria-label="Term k1 of y &amp; z along &lt;script&gt;`, "Term k2 of y &amp; z along b"}}
	out["mean"] = kind{table(50), problem.Options{Kernel: "rbf + matern52", Mean: "linear"}, []string{`<td class="words">mean</td>`, "linear"}}
	out["posterior"] = kind{table(40), problem.Options{Mean: "zero", Kernel: "rbf", Posterior: problem.Laplace, PosteriorDraws: 20}, []string{"Draws of the parameters from their posterior", "predictions of new rows average over draws", ", by laplace"}}
	out["leave-one-out"] = kind{table(40), problem.Options{Mean: "zero", Kernel: "rbf", Objective: problem.LOO}, []string{"at LOO", "The fit chose its parameters by these scores"}}
	out["standard errors"] = kind{table(40), problem.Options{Mean: "zero", Kernel: "rbf", StdErrors: true, HoldOut: 0.2}, []string{"standard error", "Scores that the fit reported", "held out"}}
	out["experts"] = kind{table(60), problem.Options{Mean: "zero", Kernel: "rbf(dims=0) + linear(dims=1)", Experts: "kmeans:3"}, []string{
		"3 local experts, each a Gaussian process, with kernel", "predicts each training row from the others of its own expert", "covariance of rows of different experts counts as 0", "rule rbcm",
		"All experts share the parameters", "does not show terms", "leave-one-out scores of their rows", "Rules on training rows that they leave out"}}
	out["one expert"] = kind{table(40), problem.Options{Mean: "zero", Kernel: "rbf(dims=0) + linear(dims=1)", Experts: "kmeans:1"}, []string{"Term k2 of y"}}
	groups := table(60)
	for i := range groups.N {
		groups.NoiseGroup = append(groups.NoiseGroup, []string{"one", "two <i>"}[i%2])
	}
	out["noise groups"] = kind{groups, problem.Options{Mean: "zero", Kernel: "rbf"}, []string{"noise_group: one, two &lt;i&gt;", "noise_variance[one]"}}
	known := table(60)
	for range known.N {
		known.NoiseVariance = append(known.NoiseVariance, 0.09)
	}
	out["known noise"] = kind{known, problem.Options{Mean: "zero", Kernel: "rbf"}, []string{"known noise variances", "column noise_variance"}}
	out["without noise"] = kind{table(20), problem.Options{Mean: "zero", Kernel: "matern12(dims=0)", NoNoise: true}, nil}
	series := problem.Data{N: 30, D: 1, FeatureNames: []string{"day"}, TargetName: "y"}
	for i := range series.N {
		series.X, series.Y = append(series.X, float64(i)), append(series.Y, math.Sin(float64(i)/5))
	}
	out["series"] = kind{series, problem.Options{Mean: "zero", Kernel: "matern52"}, []string{"its forecast: at 34.8"}}
	season := problem.Data{N: 1200, D: 1, FeatureNames: []string{"hour"}, TargetName: "load"}
	for i := range season.N {
		season.X, season.Y = append(season.X, float64(i)), append(season.Y, math.Sin(math.Pi*float64(i)/12)+0.1*math.Cos(float64(i*i)))
	}
	out["season"] = kind{season, problem.Options{Kernel: "matern12", Mean: "constant + seasonal(24, 2) + seasonal(120, 1)", HoldOut: 120, HoldOutLast: true},
		[]string{"The last 241 training rows", "a dark band is the range of the mean within each narrow strip", "Forecast of load by horizon, beside the naive forecast: the value one season (", " of load along hour with 241 rows, and its forecast: at 1199"}}
	out["encoded"] = kind{encoded(), problem.Options{Mean: "zero", Kernel: "rbf(ard)"}, []string{"How the columns of the table were read", "Effect of when on y: lowest", "Effect of colour on y", "Effect of old on y", ">red &lt;b&gt;<", "2024-"}}
	return out
}

// encoded returns a table with a date, a category and a boolean.
func encoded() problem.Data {
	d := problem.Data{N: 60, TargetName: "y", Encoding: &feature.Encoding{Columns: []feature.Coding{
		{Name: "when", Kind: feature.Date, Unit: feature.Days, Origin: "2024-01-01"},
		{Name: "colour", Kind: feature.Category, Categories: []string{"blue", "green", "red <b>"}},
		{Name: "old", Kind: feature.Boolean},
	}}}
	d.FeatureNames = d.Encoding.Features()
	d.D = len(d.FeatureNames)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range d.N {
		label, old := i%3, (i/3)%2
		row := d.Encoding.Columns[1].Append([]float64{float64(i)}, float64(label))
		d.X = append(append(d.X, row...), float64(old))
		d.Y = append(d.Y, math.Sin(float64(i)/9)+float64(label)+0.5*float64(old)+0.1*rng.NormFloat64())
	}
	return d
}

// TestKinds checks that every kind of model has a page with its parts, and that some kind shows each panel.
func TestKinds(t *testing.T) {
	shown := map[string]bool{}
	for name, c := range kinds() {
		t.Run(name, func(t *testing.T) {
			_, o := outcome(t, c.data, c.options)
			p, html := written(t, subjectOf(t, o))
			selfContained(t, html)
			testcheck.Words(t, html, c.want...)
			for _, section := range p.Sections {
				shown[section.Title] = shown[section.Title] || !section.Empty()
			}
			if got := pictures(p); got["Effect of each column"] == 0 {
				t.Errorf("pictures %v", got)
			}
			// A model without a record has a page, too.
			about := subjectOf(t, o)
			about.Record = nil
			_, html = written(t, about)
			testcheck.Words(t, html, "The model has no report of its fit")
			selfContained(t, html)
		})
	}
	for title, some := range shown {
		if !some {
			t.Errorf("no kind of model shows the panel %q: add one to kinds", title)
		}
	}
}

// TestRemarks checks the warnings with advice, and that a good model has none.
func TestRemarks(t *testing.T) {
	d := table(120)
	d.Y[60] += 40
	_, o := outcome(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	p, _ := written(t, subjectOf(t, o))
	testcheck.Words(t, remarks(p), "row 60 (", "Rows count from 0. Check whether they are mistakes in the table.")
	about := subjectOf(t, o)
	about.Record.Report.Warnings = []string{"/home/me/t.csv:3: noise is high; set option noise-floor"}
	p, _ = written(t, about)
	testcheck.Words(t, remarks(p), "t.csv:3: noise is high; set option noise-floor.")
	// Overconfident predictions of rows far from what the model knows.
	good := table(120)
	_, o = outcome(t, good, problem.Options{Mean: "zero", Kernel: "rbf(dims=0)"})
	about = subjectOf(t, o)
	wrong := make([]float64, good.N)
	for i, y := range good.Y {
		wrong[i] = y + 3*math.Cos(40*float64(i))
	}
	predictions := testcheck.Get(o.Posterior().PredictTargets(t.Context(), good.X, good.N, gp.RowNoise{}))(t)
	about.Rows = &Scored{Of: "rows of new.csv", Rows: dataset.Rows{X: good.X, N: good.N, Total: good.N, Observed: [][]float64{wrong}}, Predictions: predictions}
	p, html := written(t, about)
	testcheck.Words(t, remarks(p), "The 95 % intervals are far too narrow: they hold ")
	testcheck.Words(t, html, "<p class=\"headline\">Poor: on 120 rows of new.csv", ": overconfident.</p>")
	copy(wrong, good.Y)
	wrong[3] = math.NaN() // not observed, so not scored
	p, html = written(t, about)
	if text := remarks(p); !strings.HasPrefix(text, "The predictions ignore b. ") || strings.Contains(text, "\n") || !strings.Contains(html, "on 119 rows of new.csv") {
		t.Errorf("a good model has other warnings: %s", text)
	}
}

// TestCertain checks a page with predictions that have no uncertainty, at training rows of
// a model without noise, and with misses beside them.
func TestCertain(t *testing.T) {
	d := table(20)
	_, o := outcome(t, d, problem.Options{Mean: "zero", Kernel: "matern12(dims=0)", NoNoise: true})
	about := subjectOf(t, o)
	y := append([]float64(nil), d.Y...)
	y[4]++
	std := make([]float64, d.N)
	about.Rows = &Scored{Of: "rows of t.csv", Rows: dataset.Rows{X: d.X, N: d.N, Total: d.N, Observed: [][]float64{y}},
		Predictions: []*gp.Prediction{{Mean: d.Y, Std: std, StdLatent: std, Lower95: d.Y, Upper95: d.Y}}}
	p, html := written(t, about)
	selfContained(t, html)
	if !strings.Contains(html, "the 95 % intervals hold 95.0 % of these rows") || strings.Contains(images.ReplaceAllString(html, ""), "+Inf") {
		t.Errorf("certain predictions are not within their intervals: %q", p.Headline)
	}
	testcheck.Words(t, remarks(p), "row 4 (")
}

// TestUnscored checks that a page says why there are no scores.
func TestUnscored(t *testing.T) {
	_, o := outcome(t, table(30), problem.Options{Mean: "zero", Kernel: "rbf"})
	if undefined := errors.New("too close to singular"); fatal(t.Context(), undefined) {
		t.Error("an undefined score is no page")
	}
	if lost := (&device.LostError{Device: "cuda:0", Err: errors.New("gone")}); !fatal(t.Context(), fmt.Errorf("row 3: %w", lost)) {
		t.Error("a lost device is no error")
	}
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.unscored = "too close to singular"
	s.fit.Verdict = &summary.Verdict{Level: summary.Unknown, Headline: "unknown"}
	s.verdict = s.judge(s)
	if got := s.headline(); len(got) != 2 || got[1] != "The page has no scores: too close to singular." {
		t.Error(got)
	}
}

// TestBinomialRange checks the band of the calibration curve against sums of the distribution.
func TestBinomialRange(t *testing.T) {
	for _, c := range []struct{ n, p, low, high float64 }{
		{10, 0.5, 0.2, 0.8},   // P(X ≤ 1) = 11/1024, P(X ≤ 2) = 56/1024; symmetric
		{100, 0.5, 0.4, 0.6},  // P(X ≤ 39) = 0.0176, P(X ≤ 40) = 0.0284
		{20, 0.95, 0.85, 1.0}, // P(X ≤ 16) = 0.0159, P(X ≤ 17) = 0.0755, P(X ≤ 19) = 0.6415
		{5, 0, 0, 0}, {5, 1, 1, 1},
	} {
		low, high := binomialRange(c.n, c.p)
		testcheck.Near(t, fmt.Sprintf("n = %v, p = %v", c.n, c.p), []float64{low, high}, []float64{c.low, c.high}, 0, 1e-12)
	}
}

// TestEffects checks the middle row and the effects against predictions made by hand.
func TestEffects(t *testing.T) {
	_, o := outcome(t, encoded(), problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.columns = testcheck.Get(findColumns(t.Context(), s))(t)
	curves, _, err := (&effects{s}).curves(t.Context())
	testcheck.Do(t, err)
	found := false
	for _, e := range curves {
		if e.along.Name != "colour" {
			continue
		}
		found = true
		// Date in the middle, green, and false, which is as common as true.
		p := testcheck.Get(o.Posterior().Predict(t.Context(), []float64{29, 0, 1, 0, 0}, 1))(t)
		testcheck.Within(t, e.Mean[1], p.Mean[0], 1e-12, "effect")
		testcheck.Within(t, e.StdLatent[1], p.StdLatent[0], 1e-12, "its standard deviation")
	}
	if !found || len(curves) != 3 {
		t.Errorf("%d effects", len(curves))
	}
}

// TestEffectOfSeason checks that an effect shows the shortest season of a column.
func TestEffectOfSeason(t *testing.T) {
	d := problem.Data{N: 121, D: 1, FeatureNames: []string{"day"}, TargetName: "y"}
	for i := range d.N {
		d.X, d.Y = append(d.X, float64(i)), append(d.Y, math.Sin(math.Pi*float64(i)/3)+0.1*math.Cos(float64(i*i)))
	}
	_, o := outcome(t, d, problem.Options{Kernel: "matern12", Mean: "constant + seasonal(6, 1)"})
	s := testcheck.Get(newSubject(subjectOf(t, o)))(t)
	s.columns = testcheck.Get(findColumns(t.Context(), s))(t)
	curves, _, err := (&effects{s}).curves(t.Context())
	if err != nil || len(curves) != 1 || len(curves[0].at.Values) < 321 { // 16 for each of 20 turns
		t.Errorf("%d values, %v", len(curves[0].at.Values), err)
	}
}

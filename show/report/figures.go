package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/score"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// mostPoints is the largest number of rows that a picture shows.
const mostPoints = 1500

// The sizes of pictures.
var (
	wideSize   = plotting.Size{Width: page.PictureWidth, Height: 8}
	squareSize = plotting.Size{Width: page.PictureWidth, Height: 10}
)

// figure draws a chart for the page. caption stands above it, and alt describes it.
func figure(caption, alt string, size plotting.Size, chart plotting.Chart) (page.Picture, error) {
	f := plotting.Figure{Alt: alt, Size: size, Charts: []plotting.Chart{chart}}
	svg, err := f.SVG()
	return page.Picture{SVG: svg, Caption: caption}, err
}

// figures shows predictions, residuals and calibration of a target.
func (c *scores) figures() ([]page.Picture, error) {
	var out []page.Picture
	for _, draw := range []func() (page.Picture, error){c.observedFigure, c.residualFigure, c.histogramFigure, c.calibrationFigure} {
		f, err := draw()
		if err != nil {
			return nil, fmt.Errorf("pictures of %s: %w", c.target, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// sample returns the indices of the rows to show, spread evenly.
func (c *scores) sample() []int {
	n := len(c.Target)
	out := make([]int, min(n, mostPoints))
	for i := range out {
		out[i] = i * n / len(out)
	}
	return out
}

// shown adds to a caption how many rows the picture shows, if not all.
func (c *scores) shown(caption string) string {
	if n := len(c.Target); n > mostPoints {
		caption += fmt.Sprintf(" (%d of %d rows)", mostPoints, n)
	}
	return caption
}

// observedFigure shows the observations against the predictions.
func (c *scores) observedFigure() (page.Picture, error) {
	points := &plotting.Points{Name: "row"}
	bars := &plotting.Errors{Name: "95 % interval"}
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range c.sample() {
		points.X, points.Y = append(points.X, c.Mean[i]), append(points.Y, c.Target[i])
		points.Notes = append(points.Notes, fmt.Sprintf("row %d", c.row(i)))
		bars.X = append(bars.X, c.Mean[i])
		lower, upper := c.density(i).Interval(0.95)
		bars.Lower, bars.Upper = append(bars.Lower, lower), append(bars.Upper, upper)
		low, high = min(low, c.Mean[i], c.Target[i]), max(high, c.Mean[i], c.Target[i])
	}
	equal := &plotting.Line{Name: "observed = predicted", X: []float64{low, high}, Y: []float64{low, high}, Color: plotting.Grey}
	layers := []plotting.Layer{equal, points}
	if len(points.X) <= 300 {
		layers = []plotting.Layer{bars, equal, points}
	}
	return figure(c.named(c.shown("Observed against predicted")),
		fmt.Sprintf("Observed %s against its prediction, for %d %s; variance explained %s, RMSE %s", c.target, len(points.X), c.of, percent(c.summary.Q2), short(c.summary.RMSE)),
		squareSize, plotting.Chart{X: plotting.Axis{Label: "predicted"}, Y: plotting.Axis{Label: "observed"}, Layers: layers})
}

// residualFigure shows the standardized residuals against the predictions.
func (c *scores) residualFigure() (page.Picture, error) {
	points := &plotting.Points{}
	inside := score.CentralQuantile(0.95)
	for _, i := range c.sample() {
		points.X, points.Y = append(points.X, c.Mean[i]), append(points.Y, c.Standardized[i])
		points.Notes = append(points.Notes, fmt.Sprintf("row %d", c.row(i)))
	}
	return figure(c.named(c.shown("Standardized residuals; 95 % should lie between the dashed lines")),
		fmt.Sprintf("Standardized residuals of %s against its prediction; %s lie within ±1.96", c.target, percent(c.summary.Coverage95)),
		squareSize, plotting.Chart{X: plotting.Axis{Label: "predicted"}, Y: plotting.Axis{Label: "residual / standard deviation"}, Layers: []plotting.Layer{
			&plotting.Guide{Color: plotting.Grey},
			&plotting.Guide{At: inside, Color: plotting.Grey, Dashed: true}, &plotting.Guide{At: -inside, Color: plotting.Grey, Dashed: true},
			points,
		}})
}

// histogramFigure compares the distribution of the standardized residuals with the normal
// distribution.
func (c *scores) histogramFigure() (page.Picture, error) {
	bars := plotting.Histogram(c.Standardized)
	bars.Name = "rows"
	normal := &plotting.Line{Name: "if the model is right", Color: 1}
	for _, x := range spaced(-4, 4, 81) {
		normal.X = append(normal.X, x)
		normal.Y = append(normal.Y, float64(len(c.Standardized))*bars.Width*distuv.UnitNormal.Prob(x))
	}
	return figure(c.named("Distribution of the standardized residuals"),
		fmt.Sprintf("Histogram of the standardized residuals of %s beside the normal distribution; root mean square %s", c.target, short(c.summary.RMSStandardized)),
		squareSize, plotting.Chart{X: plotting.Axis{Label: "residual / standard deviation"}, Y: plotting.Axis{Label: "rows"}, Layers: []plotting.Layer{bars, normal}})
}

// calibrationFigure shows the share of rows within the interval of each probability.
func (c *scores) calibrationFigure() (page.Picture, error) {
	sizes := make([]float64, 0, len(c.Standardized))
	for _, z := range c.Standardized {
		sizes = append(sizes, math.Abs(z))
	}
	slices.Sort(sizes)
	n := float64(len(sizes))
	curve := &plotting.Line{Name: "these rows", Color: 0}
	band := &plotting.Band{Name: "95 % of right models", Color: plotting.Grey}
	for _, p := range spaced(0, 1, 101) {
		bound := score.CentralQuantile(p)
		inside := sort.Search(len(sizes), func(i int) bool { return !(sizes[i] <= bound) })
		low, high := binomialRange(n, p)
		curve.X, curve.Y = append(curve.X, 100*p), append(curve.Y, 100*float64(inside)/n)
		band.X, band.Lower, band.Upper = append(band.X, 100*p), append(band.Lower, 100*low), append(band.Upper, 100*high)
	}
	right := &plotting.Line{X: []float64{0, 100}, Y: []float64{0, 100}, Color: plotting.Grey}
	percentages := []float64{0, 25, 50, 75, 100}
	return figure(c.named("Calibration: rows in the interval of each probability"),
		fmt.Sprintf("Calibration curve of %s: %s of rows in the 50 %% interval, %s in the 90 %% interval, %s in the 95 %% interval", c.target, percent(c.summary.Coverage50), percent(c.summary.Coverage90), percent(c.summary.Coverage95)),
		squareSize, plotting.Chart{
			X:      plotting.Axis{Label: "probability of the interval, %", Range: [2]float64{0, 100}, Ticks: percentages},
			Y:      plotting.Axis{Label: "rows in it, %", Range: [2]float64{0, 100}, Ticks: percentages},
			Layers: []plotting.Layer{band, right, curve},
		})
}

// binomialRange returns the central range that holds the share of successes in n trials of
// probability p with at least 95 %.
func binomialRange(n, p float64) (low, high float64) {
	if p <= 0 || p >= 1 {
		return p, p
	}
	b := distuv.Binomial{N: n, P: p}
	quantile := func(q float64) float64 {
		return float64(sort.Search(int(n), func(k int) bool { return b.CDF(float64(k)) >= q })) / n
	}
	return quantile(0.025), quantile(0.975)
}

// spaced returns n values from low to high at equal distances.
func spaced(low, high float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(n-1)
	}
	return out
}

// mostLabel is the number of characters of a category that fit below a picture.
const mostLabel = 13

// shortLabel omits the middle of a long label.
func shortLabel(label string) string {
	r := []rune(label)
	if len(r) <= mostLabel {
		return label
	}
	return string(r[:mostLabel/2]) + "…" + string(r[len(r)-mostLabel/2:])
}

// describe returns the text of a picture for people who cannot see it.
func (c *curve) describe() string {
	low, high := 0, 0
	for i, v := range c.Mean {
		if v < c.Mean[low] {
			low = i
		}
		if v > c.Mean[high] {
			high = i
		}
	}
	at := func(i int) string {
		v := c.along.Variable
		v.Typical = c.along.values[i]
		return v.TypicalText()
	}
	return fmt.Sprintf("lowest %s at %s, highest %s at %s", number(c.Mean[low]), at(low), number(c.Mean[high]), at(high))
}

// chart returns the chart of a curve.
func (c *curve) chart(label string) plotting.Chart {
	return c.along.Chart(c.along.values, c.Prediction, 0.95, label)
}

// effectFigure shows the effect of a column, within a range of the target.
func (c *curve) effectFigure(within [2]float64) (page.Picture, error) {
	chart := c.chart(c.target)
	chart.Y.Range = within
	return figure(c.named(c.along.Name), fmt.Sprintf("Effect of %s on %s: %s", c.along.Name, c.target, c.describe()), wideSize, chart)
}

// figure shows a term along a column.
func (t *term) figure() (page.Picture, error) {
	caption := fmt.Sprintf("%s, %s along %s", t.path, t.text, t.along.Name)
	return figure(t.named(caption), fmt.Sprintf("Term %s of %s along %s: %s", cmp.Or(t.path, t.text), t.target, t.along.Name, t.describe()), wideSize, t.chart("part of "+t.target))
}

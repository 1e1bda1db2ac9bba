package report

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/show/effect"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// mostPoints is the largest number of rows that a picture shows.
const mostPoints = 1500

// draw adds pictures of predictions, residuals and calibration of a target.
func (c *scores) draw(section *page.Section) error {
	for _, draw := range []func(*page.Section) error{c.drawObserved, c.drawResiduals, c.drawHistogram, c.drawCalibration} {
		if err := draw(section); err != nil {
			return err
		}
	}
	return nil
}

// shown adds to a caption how many rows the picture shows, if not all.
func (c *scores) shown(caption string) string {
	if n := len(c.Target); n > mostPoints {
		caption += fmt.Sprintf(" (%d of %d rows)", mostPoints, n)
	}
	return caption
}

// drawObserved shows the observations against the predictions.
func (c *scores) drawObserved(section *page.Section) error {
	points := &plotting.Points{Name: "row"}
	bars := &plotting.Errors{Name: "95 % interval"}
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range effect.Evenly(len(c.Target), mostPoints) {
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
	return section.Draw(c.named(c.shown("Observed against predicted")),
		fmt.Sprintf("Observed %s against its prediction, for %d %s; variance explained %s, RMSE %s", c.target, len(points.X), c.of, percent(c.summary.Q2), short(c.summary.RMSE)),
		page.Square, plotting.Chart{X: plotting.Axis{Label: "predicted"}, Y: plotting.Axis{Label: "observed"}, Layers: layers})
}

// drawResiduals shows the standardized residuals against the predictions.
func (c *scores) drawResiduals(section *page.Section) error {
	points := &plotting.Points{Name: "row"}
	inside := score.CentralQuantile(0.95)
	for _, i := range effect.Evenly(len(c.Target), mostPoints) {
		points.X, points.Y = append(points.X, c.Mean[i]), append(points.Y, c.Standardized[i])
		points.Notes = append(points.Notes, fmt.Sprintf("row %d", c.row(i)))
	}
	return section.Draw(c.named(c.shown("Standardized residuals")),
		fmt.Sprintf("Standardized residuals of %s against its prediction; %s lie within ±1.96", c.target, percent(c.summary.Coverage95)),
		page.Square, plotting.Chart{X: plotting.Axis{Label: "predicted"}, Y: plotting.Axis{Label: "residual / standard deviation"}, Layers: []plotting.Layer{
			&plotting.Guide{Color: plotting.Grey},
			&plotting.Guide{Name: "95 % of rows should lie between", At: inside, Color: plotting.Grey, Dashed: true}, &plotting.Guide{At: -inside, Color: plotting.Grey, Dashed: true},
			points,
		}})
}

// drawHistogram compares the distribution of the standardized residuals with the normal
// distribution.
func (c *scores) drawHistogram(section *page.Section) error {
	bars := plotting.Histogram(c.Standardized)
	bars.Name = "rows"
	normal := &plotting.Line{Name: "if the model is right", Color: 1}
	for _, x := range matrixrows.Spaced(-4, 4, 81) {
		normal.X = append(normal.X, x)
		normal.Y = append(normal.Y, float64(len(c.Standardized))*bars.Width*distuv.UnitNormal.Prob(x))
	}
	return section.Draw(c.named("Distribution of the standardized residuals"),
		fmt.Sprintf("Histogram of the standardized residuals of %s beside the normal distribution; root mean square %s", c.target, short(c.summary.RMSStandardized)),
		page.Square, plotting.Chart{X: plotting.Axis{Label: "residual / standard deviation"}, Y: plotting.Axis{Label: "rows"}, Layers: []plotting.Layer{bars, normal}})
}

// drawCalibration shows the share of rows within the interval of each probability.
func (c *scores) drawCalibration(section *page.Section) error {
	sizes := each.Of(c.Standardized, math.Abs)
	slices.Sort(sizes)
	n := float64(len(sizes))
	curve := &plotting.Line{Name: "these rows", Color: 0}
	band := &plotting.Band{Name: "95 % of right models", Color: plotting.Grey}
	for _, p := range matrixrows.Spaced(0, 1, 101) {
		bound := score.CentralQuantile(p)
		inside := sort.Search(len(sizes), func(i int) bool { return !(sizes[i] <= bound) })
		low, high := binomialRange(n, p)
		curve.X, curve.Y = append(curve.X, 100*p), append(curve.Y, 100*float64(inside)/n)
		band.X, band.Lower, band.Upper = append(band.X, 100*p), append(band.Lower, 100*low), append(band.Upper, 100*high)
	}
	right := &plotting.Line{Name: "if the model is right", X: []float64{0, 100}, Y: []float64{0, 100}, Color: plotting.Grey}
	percentages := []float64{0, 25, 50, 75, 100}
	return section.Draw(c.named("Calibration: rows in the interval of each probability"),
		fmt.Sprintf("Calibration curve of %s: %s of rows in the 50 %% interval, %s in the 90 %% interval, %s in the 95 %% interval", c.target, percent(c.summary.Coverage50), percent(c.summary.Coverage90), percent(c.summary.Coverage95)),
		page.Square, plotting.Chart{
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

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/residual"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/show/effect"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

const (
	// beyond is the part of the range of the times that the forecast adds.
	beyond = 0.2
	// fewTimes is the smallest number of rows of a series. recent is the least number of its last rows that
	// a second picture shows of longer ones: two of the longest seasons that have at most seasonRows rows.
	fewTimes, recent, seasonRows = 20, 100, 250
	// seriesPoints is the least number of times at which a line has predictions.
	seriesPoints = 400
	// spectrumPoints is the number of points of a spectrum, of whose lines the namedLines strongest have their period beside them.
	spectrumPoints, namedLines = 800, 5
)

// series shows the series of a model of one time with its forecast.
type series struct{ *subject }

// stretch is a part of a series with its forecast.
type stretch struct {
	caption     string
	low, high   float64
	at          *effect.Sampling
	predictions []*gp.Prediction
}

// time returns the only column of the model if it is a time: a date, or a number that never falls from
// a row of the table to the next. It returns nil otherwise.
func (s *series) time() *axis {
	if len(s.axes) != 1 || s.model.N() < fewTimes || s.experts != nil {
		return nil
	}
	only := &s.axes[0]
	if only.Categories != nil || only.Axis().Date == nil && !only.Ascending || only.Low == only.High {
		return nil
	}
	return only
}

// otherTimes returns the times of the rows to score.
func (s *series) otherTimes(only *axis) []float64 {
	if s.Rows == nil || s.Rows.Rows.N == 0 {
		return nil
	}
	times := make([]float64, s.Rows.Rows.N)
	for i := range times {
		times[i] = s.Rows.Rows.X[i*(len(s.Rows.Rows.X)/len(times))+only.First]
	}
	return times
}

// forecast predicts the series, and goes on beyond its end.
func (s *series) forecast(ctx context.Context, only *axis) ([]stretch, error) {
	last := only.High + beyond*(only.High-only.Low)
	if others := s.otherTimes(only); others != nil {
		last = max(last, slices.Max(others))
	}
	parts := []stretch{{caption: "The series", low: only.Low, high: last}}
	if n := s.model.N(); n > 2*recent {
		times := slices.Sorted(slices.Values(s.model.X)) // of one column
		first := firstOfLast(times, only.Seasons(s.model))
		end := min(last, only.High+(only.High-times[first])/2)
		parts = append(parts, stretch{caption: fmt.Sprintf("The last %d training rows", n-first), low: times[first], high: end})
	}
	for i := range parts {
		part, err := &parts[i], error(nil)
		shown := *only
		shown.Low, shown.High = part.low, part.high
		if part.at, part.predictions, err = s.along(ctx, &shown, seriesPoints); err != nil {
			return nil, fmt.Errorf("forecast of the series: %w", err)
		}
	}
	return parts, nil
}

// firstOfLast returns the first of the last rows, of ascending times, that a picture shows.
func firstOfLast(times, seasons []float64) int {
	n := len(times)
	for _, season := range slices.Backward(seasons) {
		from, _ := slices.BinarySearch(times, times[n-1]-2*season)
		if n-from <= 2*seasonRows {
			return min(from, n-recent)
		}
	}
	return n - recent
}

func (s *series) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Series and forecast"}
	only := s.time()
	if only == nil {
		return section, nil
	}
	parts, err := s.forecast(ctx, only)
	if err != nil {
		return section, err
	}
	section.Notes = []string{fmt.Sprintf("The line is the mean, the band the 95 %% interval of a new observation. They go on for %.0f %% of the range of %s beyond the last training row.", 100*beyond, only.Name)}
	for i := range parts {
		if why := parts[i].at.Why; why != "" {
			section.Notes = append(section.Notes, parts[i].caption+" has rows only. "+why)
		}
	}
	if slices.ContainsFunc(parts, func(part stretch) bool { return part.at.Envelope() }) {
		section.Notes = append(section.Notes, stripsNote)
	}
	if s.model.Draws.Len() > 0 {
		section.Notes = append(section.Notes, "The forecast uses the parameters of the optimum.")
	}
	for t := range s.each() {
		for i := range parts {
			if err := s.draw(&section, &parts[i], only, t); err != nil {
				return section, err
			}
		}
		if err := s.drawSpectrum(&section, only, t); err != nil {
			return section, err
		}
	}
	return section, nil
}

// drawSpectrum draws the waves of a target by their periods, and marks the lines.
func (s *series) drawSpectrum(section *page.Section, only *axis, t int) error {
	target, trained, unit := s.each()[t], s.model.Target(t), s.model.Encoding.Unit(only.Name)
	waves := residual.NewSpectrum(trained.X, trained.Y, spectrumPoints)
	if waves == nil {
		return nil
	}
	points := &plotting.Points{Name: "stands out", Color: 1, X: waves.LinePeriods, Y: waves.LineAmplitudes, Labels: make([]string, len(waves.LinePeriods))}
	order := matrixrows.All(len(points.X))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(points.Y[b], points.Y[a]) })
	for rank, i := range order {
		if rank < namedLines {
			points.Labels[i] = unit.Span(points.X[i])
		}
	}
	named := each.Of(waves.Seasons, unit.Span)
	found := "no line stands out of its neighbourhood"
	if len(named) > 0 {
		found = "the lines that stand out are harmonics of " + strings.Join(named, ", ")
	}
	section.Notes = append(section.Notes, target.named(fmt.Sprintf("In the periodogram of all training rows along %s %s.", only.Name, found)))
	alt := fmt.Sprintf("Amplitudes of waves of %s by their period along %s: %s", target.target, only.Name, found)
	x := plotting.Axis{Label: "period along " + only.Name, Log: true}
	if unit != "" {
		x.Label += ", in " + string(unit)
	}
	return section.Draw(target.named("The periodogram of the series"), alt, page.Wide, plotting.Chart{X: x, Y: plotting.Axis{Label: "amplitude of " + target.target, Log: true}, Layers: []plotting.Layer{
		&plotting.Line{Name: "wave", X: waves.Periods, Y: waves.Amplitudes, Color: plotting.Grey, Thin: true}, points,
	}})
}

// draw draws a part of the series of a target.
func (s *series) draw(section *page.Section, part *stretch, only *axis, t int) error {
	target, trained := s.each()[t], s.model.Target(t)
	known := part.between("training row", plotting.Grey, trained.X, trained.Y, s.model.Row)
	layers, shown := []plotting.Layer{known}, len(known.X)
	if others := s.otherTimes(only); others != nil {
		more := part.between("other row", 1, others, s.Rows.Rows.Observed[t], s.Rows.number)
		layers, shown = append(layers, more), shown+len(more.X)
	}
	alt := fmt.Sprintf("%s of %s along %s with %d rows", part.caption, target.target, only.Name, shown)
	if last := len(part.at.Values) - 1; last >= 0 {
		p, end := part.predictions[t], *only
		predicted := part.at.Layers("95 % interval", p.Mean, p.Lower95, p.Upper95)
		layers = slices.Concat(predicted[:1], layers, predicted[1:])
		end.Typical = part.at.Values[last]
		alt += fmt.Sprintf(", and its forecast: at %s %s, 95 %% interval %s to %s", end.TypicalText(), number(p.Mean[last]), number(p.Lower95[last]), number(p.Upper95[last]))
	}
	layers = append(layers, &plotting.Guide{Name: "last training row", At: only.High, Vertical: true, Dashed: true, Color: plotting.Grey})
	return section.Draw(target.named(part.caption), alt, page.Wide, plotting.Chart{X: only.Axis(), Y: plotting.Axis{Label: target.target}, Layers: layers})
}

// between returns rows whose times are within the range of a picture. number is the number of a row in its table.
func (s *stretch) between(name string, color int, x, y []float64, number func(i int) int) *plotting.Points {
	var inside []int
	for i, at := range x {
		if at >= s.low && at <= s.high {
			inside = append(inside, i)
		}
	}
	out := &plotting.Points{Name: name, Color: color}
	for _, k := range effect.Evenly(len(inside), mostPoints) {
		i := inside[k]
		out.X, out.Y = append(out.X, x[i]), append(out.Y, y[i])
		out.Notes = append(out.Notes, fmt.Sprintf("row %d", number(i)))
	}
	return out
}

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/residual"
	"gpfit/gp"
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
	// seriesPoints is the number of times at which a picture has predictions, and fewOfSeason how many of them a season needs.
	seriesPoints, fewOfSeason = 400, 6
	// spectrumPoints is the number of points of a spectrum, of whose lines the namedLines strongest have their period beside them.
	spectrumPoints, namedLines = 800, 5
)

// series shows the series of a model of one time with its forecast.
type series struct{ *subject }

// stretch is a part of a series with its forecast.
type stretch struct {
	caption string
	times   []float64
	// coarse says that the times are too few to show a season.
	coarse      bool
	predictions []*gp.Prediction
}

// time returns the only column of the model if it is a time: a date, or a number that never falls from
// a row of the table to the next. It returns nil otherwise.
func (s *series) time() *effect.Variable {
	if len(s.axes) != 1 || s.model.N() < fewTimes || s.experts != nil {
		return nil
	}
	only := &s.axes[0].Variable
	if only.Categories != nil || only.Axis().Date == nil && !only.Ascending || only.Low == only.High {
		return nil
	}
	return only
}

// otherTimes returns the times of the rows to score.
func (s *series) otherTimes(only *effect.Variable) []float64 {
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
func (s *series) forecast(ctx context.Context, only *effect.Variable) ([]stretch, error) {
	last := only.High + beyond*(only.High-only.Low)
	if others := s.otherTimes(only); others != nil {
		last = max(last, slices.Max(others))
	}
	parts := []stretch{{caption: "The series", times: matrixrows.Spaced(only.Low, last, seriesPoints)}}
	seasons, err := s.model.Seasons(s.model.Columns[0])
	if err != nil {
		return nil, err
	}
	parts[0].coarse = len(seasons) > 0 && seasons[0] < fewOfSeason*(last-only.Low)/seriesPoints
	if n := s.model.N(); n > 2*recent {
		times := slices.Sorted(slices.Values(s.model.X)) // of one column
		first := firstOfLast(times, seasons)
		end := min(last, only.High+(only.High-times[first])/2)
		parts = append(parts, stretch{caption: fmt.Sprintf("The last %d training rows", n-first), times: matrixrows.Spaced(times[first], end, seriesPoints)})
	}
	for i := range parts {
		rows := effect.Along(s.model, []effect.Variable{*only}, 0, parts[i].times)
		if parts[i].predictions, err = s.Posterior.PredictTargets(ctx, rows.X, rows.N, rows.Noise); err != nil {
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
	section.Notes = []string{fmt.Sprintf("The line is the mean, the band the 95 %% interval of a new observation. They go on for %.0f %% of the range of %s beyond the last training row, which the dashed line marks.", 100*beyond, only.Name)}
	if parts[0].coarse {
		section.Notes = append(section.Notes, "The picture of the whole series is too small for its shortest season, and has no line: the other one shows the last seasons.")
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
func (s *series) drawSpectrum(section *page.Section, only *effect.Variable, t int) error {
	target, trained, unit := s.each()[t], s.model.Target(t), s.model.Encoding.Unit(only.Name)
	waves := residual.NewSpectrum(trained.X, trained.Y, spectrumPoints)
	if waves == nil {
		return nil
	}
	points := &plotting.Points{Name: "line", Color: 1, X: waves.LinePeriods, Y: waves.LineAmplitudes, Labels: make([]string, len(waves.LinePeriods))}
	order := matrixrows.All(len(points.X))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(points.Y[b], points.Y[a]) })
	for rank, i := range order {
		if rank < namedLines {
			points.Labels[i] = unit.Span(points.X[i])
		}
	}
	var named []string
	for _, period := range waves.Seasons {
		named = append(named, unit.Span(period))
	}
	found := "no line stands out of its neighbourhood"
	if named != nil {
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
func (s *series) draw(section *page.Section, part *stretch, only *effect.Variable, t int) error {
	p, target, trained := part.predictions[t], s.each()[t], s.model.Target(t)
	last := len(part.times) - 1
	known := between(part.times, "training row", plotting.Grey, trained.X, trained.Y, s.model.Row)
	layers, shown := []plotting.Layer{known}, len(known.X)
	if others := s.otherTimes(only); others != nil {
		more := between(part.times, "other row", 1, others, s.Rows.Rows.Observed[t], s.Rows.number)
		layers, shown = append(layers, more), shown+len(more.X)
	}
	if !part.coarse {
		layers = slices.Insert(layers, 0, plotting.Layer(&plotting.Band{Name: "95 % interval", X: part.times, Lower: p.Lower95, Upper: p.Upper95}))
		layers = append(layers, &plotting.Line{Name: "mean", X: part.times, Y: p.Mean})
	}
	layers = append(layers, &plotting.Guide{At: only.High, Vertical: true, Dashed: true, Color: plotting.Grey})
	end := *only
	end.Typical = part.times[last]
	alt := fmt.Sprintf("%s of %s along %s with %d rows, and its forecast: at %s %s, 95 %% interval %s to %s", part.caption, target.target, only.Name, shown, end.TypicalText(), number(p.Mean[last]), number(p.Lower95[last]), number(p.Upper95[last]))
	return section.Draw(target.named(part.caption), alt, page.Wide, plotting.Chart{X: only.Axis(), Y: plotting.Axis{Label: target.target}, Layers: layers})
}

// between returns rows whose times are within the range of a picture. number is the number of a row in its table.
func between(times []float64, name string, color int, x, y []float64, number func(i int) int) *plotting.Points {
	var inside []int
	for i, at := range x {
		if at >= times[0] && at <= times[len(times)-1] {
			inside = append(inside, i)
		}
	}
	out := &plotting.Points{Name: name, Color: color}
	for _, k := range evenly(len(inside), mostPoints) {
		i := inside[k]
		out.X, out.Y = append(out.X, x[i]), append(out.Y, y[i])
		out.Notes = append(out.Notes, fmt.Sprintf("row %d", number(i)))
	}
	return out
}

package report

import (
	"context"
	"fmt"
	"slices"

	"gpfit/show/effect"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

const (
	// beyond is the part of the range of the times that the forecast adds.
	beyond = 0.2
	// fewTimes is the smallest number of rows of a series. recent is the number of its last rows that
	// a second picture shows of longer ones.
	fewTimes, recent = 20, 100
	// seriesPoints is the number of times at which a picture has predictions.
	seriesPoints = 400
)

// timeOf returns the only column of the model if it is a time: a date, or a number that never falls from
// a row of the table to the next. It returns nil otherwise.
func timeOf(s *subject) *effect.Variable {
	if len(s.axes) != 1 || s.model.N() < fewTimes || s.experts != nil {
		return nil
	}
	only := &s.axes[0].whole
	if only.Categories != nil || only.Axis().Date == nil && !only.Ascending || only.Low == only.High {
		return nil
	}
	return only
}

// timesOf returns the times of n rows of all features.
func timesOf(only *effect.Variable, x []float64, n int) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = x[i*(len(x)/n)+only.First]
	}
	return times
}

// forecast predicts the series of a model of one time, and goes on beyond its end.
func forecast(ctx context.Context, s *subject) error {
	only := timeOf(s)
	if only == nil {
		return nil
	}
	last := only.High + beyond*(only.High-only.Low)
	if s.Rows != nil && s.Rows.Rows.N > 0 {
		last = max(last, slices.Max(timesOf(only, s.Rows.Rows.X, s.Rows.Rows.N)))
	}
	s.stretches = []stretch{{caption: "The series", times: spaced(only.Low, last, seriesPoints)}}
	if n := s.model.N(); n > 2*recent {
		times := slices.Sorted(slices.Values(s.model.X)) // of one column
		end := stretch{caption: fmt.Sprintf("The last %d training rows", recent), times: spaced(times[n-recent], min(last, only.High+(only.High-times[n-recent])/2), seriesPoints)}
		s.stretches = append(s.stretches, end)
	}
	for i := range s.stretches {
		rows := effect.Along(s.model, []effect.Variable{*only}, 0, s.stretches[i].times)
		predictions, err := s.Posterior.PredictTargets(ctx, rows.X, rows.N, rows.Noise)
		if err != nil {
			return fmt.Errorf("forecast of the series: %w", err)
		}
		s.stretches[i].predictions = predictions
	}
	return nil
}

// series shows the series of a model of one time with its forecast.
func series(s *subject) (page.Section, error) {
	section := page.Section{Title: "Series and forecast"}
	if s.stretches == nil {
		return section, nil
	}
	only := timeOf(s)
	section.Notes = []string{fmt.Sprintf("The line is the mean, the band the 95 %% interval of a new observation. They go on for %.0f %% of the range of %s beyond the last training row, which the dashed line marks.", 100*beyond, only.Name)}
	if s.model.Draws.Len() > 0 {
		section.Notes = append(section.Notes, "The forecast uses the parameters of the optimum.")
	}
	for t, target := range s.each() {
		for i := range s.stretches {
			picture, err := seriesFigure(s, &s.stretches[i], only, t, target)
			if err != nil {
				return section, err
			}
			section.Pictures = append(section.Pictures, picture)
		}
	}
	return section, nil
}

// seriesFigure draws a part of the series of a target.
func seriesFigure(s *subject, part *stretch, only *effect.Variable, t int, target ofTarget) (page.Picture, error) {
	p, from, to := part.predictions[t], part.times[0], part.times[len(part.times)-1]
	trained := s.model.Target(t)
	shown := 0
	points := func(name string, color int, x, y []float64, number func(i int) int) *plotting.Points {
		out := &plotting.Points{Name: name, Color: color}
		var inside []int
		for i, at := range x {
			if at >= from && at <= to {
				inside = append(inside, i)
			}
		}
		n := min(len(inside), mostPoints)
		for k := range n {
			i := inside[k*len(inside)/n]
			out.X, out.Y = append(out.X, x[i]), append(out.Y, y[i])
			out.Notes = append(out.Notes, fmt.Sprintf("row %d", number(i)))
		}
		shown += n
		return out
	}
	layers := []plotting.Layer{
		&plotting.Band{Name: "95 % interval", X: part.times, Lower: p.Lower95, Upper: p.Upper95},
		points("training row", plotting.Grey, trained.X, trained.Y, s.model.Row),
	}
	if s.Rows != nil && s.Rows.Rows.N > 0 {
		number := func(i int) int {
			if s.Rows.Numbers == nil {
				return i
			}
			return s.Rows.Numbers[i]
		}
		layers = append(layers, points("other row", 1, timesOf(only, s.Rows.Rows.X, s.Rows.Rows.N), s.Rows.Rows.Observed[t], number))
	}
	layers = append(layers, &plotting.Line{Name: "mean", X: part.times, Y: p.Mean}, &plotting.Guide{At: only.High, Vertical: true, Dashed: true, Color: plotting.Grey})
	end := *only
	end.Typical = to
	last := len(p.Mean) - 1
	alt := fmt.Sprintf("%s of %s along %s with %d rows, and its forecast: at %s %s, 95 %% interval %s to %s", part.caption, target.target, only.Name, shown, end.TypicalText(), number(p.Mean[last]), number(p.Lower95[last]), number(p.Upper95[last]))
	return figure(target.named(part.caption), alt, wideSize, plotting.Chart{X: only.Axis(), Y: plotting.Axis{Label: target.target}, Layers: layers})
}

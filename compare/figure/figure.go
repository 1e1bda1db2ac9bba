// Package figure draws comparisons of methods: the fits over one input, how scores and
// times grow with the rows, and weights by the penalty.
package figure

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/compare"
	"gpfit/internal/each"
	"gpfit/show/plotting"
)

// ErrNothing means that an interruption left nothing to draw.
var ErrNothing = errors.New("figure: there is nothing to draw")

// The number of colours of lines: with more curves, each has a chart of its own, and further
// methods have dashed lines.
const colors = 6

// Fits returns the fits over the input, with the rows. date returns the date of an input, nil if the
// inputs are no dates. Up to six fits share one chart, with the interval of the best method
// that has a density; others have a chart each. Errors: [ErrNothing].
func Fits(r *compare.Result, date func(x float64) time.Time) (*plotting.Figure, error) {
	if r.Curves == nil || len(r.Curves.Curves) == 0 {
		return nil, ErrNothing
	}
	c := table{r.Curves}
	fits := ranked(r)
	f := &plotting.Figure{Title: "Fits of " + r.Target, Alt: "The fits of " + r.Target + " over " + r.Features[0]}
	chart := func(title string, layers ...plotting.Layer) {
		f.Charts = append(f.Charts, plotting.Chart{
			Title: title, Layers: layers,
			X: plotting.Axis{Label: r.Features[0], Date: date}, Y: plotting.Axis{Label: r.Target, Range: c.span()},
		})
	}
	if len(fits) > colors {
		for _, fit := range fits {
			layers := append(c.band(fit, interval, 0), c.points()...)
			chart(fit.Method, append(layers, c.line(fit, "fit", 0))...)
		}
		return f, nil
	}
	var layers []plotting.Layer
	if i := slices.IndexFunc(fits, func(fit compare.Curve) bool { return fit.Lower != nil }); i >= 0 {
		layers = c.band(fits[i], interval+", "+fits[i].Method, i)
	}
	layers = append(layers, c.points()...)
	for i, fit := range fits {
		layers = append(layers, c.line(fit, fit.Method, i))
	}
	chart("", layers...)
	return f, nil
}

// table draws the curves of a comparison.
type table struct{ *compare.Curves }

// ranked returns curves in the order of the methods' ranks.
func ranked(r *compare.Result) []compare.Curve {
	var out []compare.Curve
	for _, e := range r.Methods {
		if i := slices.IndexFunc(r.Curves.Curves, func(c compare.Curve) bool { return c.Method == e.Method }); i >= 0 {
			out = append(out, r.Curves.Curves[i])
		}
	}
	return out
}

// span is the range of the targets, with room: a fit that leaves it is cut off.
func (c table) span() [2]float64 {
	y := slices.Concat(c.TrainY, c.TestY)
	lo, hi := slices.Min(y), slices.Max(y)
	room := 0.25 * math.Max(hi-lo, 1e-9)
	return [2]float64{lo - room, hi + room}
}

func (c table) line(fit compare.Curve, name string, color int) plotting.Layer {
	return &plotting.Line{Name: name, X: c.X, Y: fit.Mean, Color: color}
}

// interval is the name of the range between the bounds of a fit.
const interval = "95 % interval"

func (c table) band(fit compare.Curve, name string, color int) []plotting.Layer {
	if fit.Lower == nil {
		return nil
	}
	return []plotting.Layer{&plotting.Band{Name: name, X: c.X, Lower: fit.Lower, Upper: fit.Upper, Color: color}}
}

// points are the rows, with rings for held-out rows.
func (c table) points() []plotting.Layer {
	out := []plotting.Layer{&plotting.Points{Name: "rows", X: c.TrainX, Y: c.TrainY, Color: plotting.Grey}}
	if c.TestX != nil {
		out = append(out, &plotting.Points{Name: "held-out rows", X: c.TestX, Y: c.TestY, Color: plotting.Grey, Shape: plotting.Ring})
	}
	return out
}

// Growth returns score and time of each method against the number of training rows.
// Errors: [ErrNothing].
func Growth(r *compare.Result) (*plotting.Figure, error) {
	if len(r.Sizes) == 0 {
		return nil, ErrNothing
	}
	rows := each.Of(r.Sizes, func(g compare.Growth) float64 { return float64(g.Train) })
	score := strings.ToUpper(string(r.RankBy))
	axis := plotting.Axis{Label: "training rows", Log: true, Ticks: rows}
	f := &plotting.Figure{
		Title: score + " and time of " + r.Target + " by the number of training rows",
		Charts: []plotting.Chart{
			{Title: score + " on held-out rows", X: axis, Y: plotting.Axis{Label: score, Log: r.RankBy == compare.ByRMSE}},
			{Title: "RMSE on training rows", X: axis, Y: plotting.Axis{Label: "RMSE", Log: true}},
			{Title: "Time", X: axis, Y: plotting.Axis{Label: "seconds", Log: true}},
		},
	}
	for i, e := range r.Methods {
		for k, y := range growth(r, e.Method) {
			name := e.Method
			if k > 0 {
				name = "" // the legend of the first chart names the lines
			}
			f.Charts[k].Layers = append(f.Charts[k].Layers,
				&plotting.Line{Name: name, X: rows, Y: y, Color: i % colors, Dashed: i >= colors},
				&plotting.Points{X: rows, Y: y, Color: i % colors})
		}
	}
	return f, nil
}

// least is the smallest time that the figure shows: smaller ones are noise.
const least = 1e-4

// growth returns score, training error and seconds of a method by size, NaN without a score.
func growth(r *compare.Result, method string) [3][]float64 {
	var out [3][]float64
	for _, g := range r.Sizes {
		i := slices.IndexFunc(g.Methods, func(e compare.Ranked) bool { return e.Method == method })
		e := &g.Methods[i]
		time := math.NaN()
		if e.Status == compare.Done {
			time = math.Max(e.Seconds(), least)
		}
		for k, v := range []float64{shown(r.Score(e), r.RankBy == compare.ByRMSE), shown(e.TrainingRMSE, true), time} {
			out[k] = append(out[k], v)
		}
	}
	return out
}

// shown returns a score, or NaN if there is none or a logarithmic axis has no place for it.
func shown(v *float64, log bool) float64 {
	if v == nil || log && *v <= 0 {
		return math.NaN()
	}
	return *v
}

// Errors returns the RMSE of each method on training rows and on held-out rows. Errors: [ErrNothing].
func Errors(r *compare.Result) (*plotting.Figure, error) {
	var names []string
	var at, training, held []float64
	for i := range r.Methods {
		if e := &r.Methods[i]; e.Status == compare.Done {
			at = append(at, float64(len(names)))
			names = append(names, e.Method)
			training, held = append(training, shown(e.TrainingRMSE, true)), append(held, shown(e.RMSE, true))
		}
	}
	if names == nil {
		return nil, ErrNothing
	}
	return &plotting.Figure{
		Title: "Errors of " + r.Target + " on training rows and on held-out rows",
		Charts: []plotting.Chart{{
			X: plotting.Axis{Label: "RMSE", Log: true}, Y: plotting.Axis{Categories: names, Reversed: true},
			Layers: []plotting.Layer{
				&plotting.Points{Name: "training rows", X: training, Y: at, Color: plotting.Grey, Shape: plotting.Ring},
				&plotting.Points{Name: "held-out rows", X: held, Y: at, Color: 0},
			},
		}},
	}, nil
}

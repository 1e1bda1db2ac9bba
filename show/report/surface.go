package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/show/effect"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// surface shows a function of two columns of numbers as a surface, with its standard deviation and the residuals.
type surface struct{ *subject }

// A map has at most mostSide places a side, and at least leastSide; between them mapWork bounds n² for each place.
const mostSide, leastSide, mapWork = 60, 16, 1e11

// axesOfMap returns the columns to the right and upwards; nil if the model has others than two of numbers.
func (m *surface) axesOfMap() (right, up *axis) {
	if len(m.axes) != 2 || m.axes[0].Categories != nil || m.axes[1].Categories != nil {
		return nil, nil
	}
	right, up = &m.axes[0], &m.axes[1]
	if upwards(right.Name) && !upwards(up.Name) || right.First > up.First && !upwards(up.Name) {
		right, up = up, right
	}
	return right, up
}

// upwards reports whether a column has the name of a coordinate that maps show upwards.
func upwards(name string) bool {
	name = strings.ToLower(name)
	return name == "y" || strings.HasPrefix(name, "lat") || strings.HasPrefix(name, "north")
}

func (m *surface) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Map"}
	right, up := m.axesOfMap()
	if right == nil {
		return section, nil
	}
	side := int(min(mostSide, max(leastSide, math.Sqrt(mapWork)/float64(m.model.N()))))
	if !m.trueOn(side) {
		section.Notes = []string{fmt.Sprintf("A map of %d × %d places cannot show the shortest season or lengthscale of the model, so there is none.", side, side)}
		return section, nil
	}
	x, y := right.Values(side), up.Values(side)
	predictions, err := m.over(ctx, right, up, x, y)
	if err != nil {
		return section, fmt.Errorf("map: %w", err)
	}
	axes := func(layers ...plotting.Layer) plotting.Chart {
		return plotting.Chart{X: plotting.Axis{Label: right.Name}, Y: plotting.Axis{Label: up.Name}, Layers: layers}
	}
	for t, target := range m.each() {
		p := predictions[t]
		for _, one := range []struct {
			what, label string
			values      []float64
			layers      []plotting.Layer
		}{
			{"Fitted surface", target.target, p.Mean, nil},
			{"Standard deviation of the function, without noise", "std", p.StdLatent, []plotting.Layer{m.trained(right, up)}},
		} {
			heat := &plotting.Heat{X: x, Y: y, Z: slices.Collect(slices.Chunk(one.values, side)), Label: one.label}
			if err := section.Draw(target.named(one.what), fmt.Sprintf("%s of %s over %s and %s", one.what, target.target, right.Name, up.Name), page.Square, axes(append([]plotting.Layer{heat}, one.layers...)...)); err != nil {
				return section, err
			}
		}
	}
	for i := range m.scores {
		c := &m.scores[i]
		if err := section.Draw(c.named(c.shown("Standardized residuals; large points lie beyond ±2")), fmt.Sprintf("Standardized residuals of %s over %s and %s", c.target, right.Name, up.Name), page.Square, axes(c.onMap(right, up)...)); err != nil {
			return section, err
		}
	}
	section.Notes = []string{"The surface and its deviation come from the model at " + fmt.Sprintf("%d × %d", side, side) + " places. Residuals of one sign side by side say that the function is too smooth there."}
	return section, nil
}

// over predicts every target at the places of a grid, row by row upwards.
func (m *surface) over(ctx context.Context, right, up *axis, x, y []float64) ([]*gp.Prediction, error) {
	var rows []float64
	row := make([]float64, len(m.model.FeatureNames)) // features that the model does not use are 0
	for _, v := range y {
		copy(row[up.First:], up.Encode(v))
		for _, u := range x {
			copy(row[right.First:], right.Encode(u))
			rows = append(rows, row...)
		}
	}
	noise := gp.RowNoise{}
	if labels := m.model.Noise.Labels; len(labels) > 0 {
		noise.DefaultGroup = labels[0] // the function does not depend on it
	}
	return m.Posterior.PredictTargets(ctx, rows, len(x)*len(y), noise)
}

// trueOn reports whether a map of a number of places a side has eight of them for each turn of the seasons of its columns, and one for
// each of their lengthscales.
func (m *surface) trueOn(side int) bool {
	return !slices.ContainsFunc(m.axes, func(a axis) bool { return a.High-a.Low > 2*a.Step(m.model)*float64(side-1) })
}

// trained returns the places of training rows.
func (m *surface) trained(right, up *axis) plotting.Layer {
	points := &plotting.Points{Name: "training row", Color: plotting.Grey, Radius: 1}
	for _, i := range effect.Evenly(m.model.N(), mostPoints/3) {
		row := m.trainingRow(i)
		points.X, points.Y = append(points.X, row[right.First]), append(points.Y, row[up.First])
	}
	return points
}

// trainingRow returns a training row with a number for each feature of the table, 0 for features that the model does not use.
func (s *subject) trainingRow(i int) []float64 {
	row, d := make([]float64, len(s.model.FeatureNames)), len(s.model.Columns)
	for at, f := range s.model.Columns {
		row[f] = s.model.X[i*d+at]
	}
	return row
}

// onMap returns the residuals at their places, by sign and size.
func (c *scores) onMap(right, up *axis) (layers []plotting.Layer) {
	names := [2]string{"observed below the prediction", "observed above it"}
	for _, size := range []int{1, 0, 2} { // the legend shows the first that there is
		for sign := range 2 {
			points := &plotting.Points{Name: names[sign], Color: sign, Radius: float64(int(1) << size)}
			for _, i := range effect.Evenly(len(c.Target), mostPoints) {
				z := c.Standardized[i]
				if (z > 0) == (sign == 1) && int(min(2, math.Abs(z))) == size {
					row := c.inputs(i)
					points.X, points.Y = append(points.X, row[right.First]), append(points.Y, row[up.First])
					points.Notes = append(points.Notes, fmt.Sprintf("row %d", c.row(i)))
				}
			}
			if len(points.X) > 0 {
				layers = append(layers, points)
			}
		}
	}
	return layers
}

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"gpfit/gp"
	"gpfit/gp/exchange"
	"gpfit/internal/textform"
	"gpfit/show/effect"
	"gpfit/show/page"
)

const (
	// mostEmbedded is the number of inputs and weights that a page holds for predictions, as 0.4 MB
	// of text; mostFactorRows is the number of rows up to which it also holds the factor, as
	// much again, for standard deviations.
	mostEmbedded, mostFactorRows = 40_000, 250
	// mostSliders is the number of columns, the most relevant ones, with a control.
	mostSliders = 20
	// sliderSteps is the number of steps of a slider.
	sliderSteps = 200
)

// sliders are the numbers behind the controls that predict a row.
type sliders struct {
	Model *exchange.Explicit `json:"model"`
	// Typical holds the features of the first row shown.
	Typical []float64 `json:"typical"`
	Columns []slider  `json:"columns"`
	// Noise holds the standard deviation of the noise for each target, if all rows have the same.
	Noise []float64 `json:"noise,omitempty"`
}

// slider is a control for a column of the table. Value is the first value, for categories a position.
type slider struct {
	Name  string  `json:"name"`
	First int     `json:"first"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Step  float64 `json:"step"`
	// Dates are the times of Low and High in milliseconds.
	Dates []int64 `json:"dates,omitempty"`
	// Categories have their features in Encoded.
	Categories []string    `json:"categories,omitempty"`
	Encoded    [][]float64 `json:"encoded,omitempty"`
}

// whatIf lets the reader change a row and see the prediction.
type whatIf struct{ *subject }

func (w *whatIf) section(context.Context) (page.Section, error) {
	m := w.model
	section := page.Section{Title: "What if"}
	without := func(why string) (page.Section, error) {
		section.Notes = []string{"This page has no controls that predict a row, because " + why + ". gpfit predict has no such limit."}
		return section, nil
	}
	switch numbers := m.N() * (len(m.Columns) + m.T()); {
	case w.experts != nil:
		return without("the model has local experts")
	case m.Scaling.Transform != nil:
		return without("the model transforms its target")
	case numbers > mostEmbedded:
		return without(fmt.Sprintf("the model has %d inputs and weights, and a page holds at most %d", numbers, mostEmbedded))
	}
	variances := m.N() <= mostFactorRows
	explicit, err := exchange.NewExplicit(m, variances)
	if err != nil {
		return without(err.Error())
	}
	data := sliders{Model: explicit, Typical: w.typicalRow()}
	for i := range w.axes[:min(len(w.axes), mostSliders)] {
		data.Columns = append(data.Columns, newSlider(m, &w.axes[i].Variable))
	}
	section.Notes = []string{"Move a column: the page computes the prediction of this row with the model's own kernel and all training rows. It approximates nothing; rounding differs from gpfit predict in the last digits."}
	if variances && m.TrainNoise == nil && len(m.Noise.Labels) == 0 {
		for t := range m.T() {
			data.Noise = append(data.Noise, math.Sqrt(m.NoiseVariance)*m.Target(t).Scaling.YScale)
		}
	}
	if !variances {
		section.Notes = append(section.Notes, fmt.Sprintf("Intervals need a matrix of the %s, which the page holds for at most %d rows; gpfit predict has them.", textform.Counted(m.N(), "training row"), mostFactorRows))
	}
	if m.Draws.Len() > 0 {
		section.Notes = append(section.Notes, "The numbers belong to the parameters of the optimum, as gpfit predict with option posterior-draws 0 has them; without it, it averages over draws of the parameters.")
	}
	if more := len(w.axes) - mostSliders; more > 0 {
		section.Notes = append(section.Notes, fmt.Sprintf("The %d less relevant columns stay in the middle.", more))
	}
	section.WhatIf, err = json.Marshal(data)
	return section, err
}

// typicalRow returns the features of a row with typical values of all columns.
func (w *whatIf) typicalRow() []float64 {
	row := make([]float64, len(w.model.FeatureNames))
	for i := range w.axes {
		v := &w.axes[i].Variable
		copy(row[v.First:], v.Encode(v.Typical))
	}
	return row
}

// newSlider returns the control of a column, with eight steps for each turn of the shortest season.
func newSlider(m *gp.Model, v *effect.Variable) slider {
	out := slider{Name: v.Name, First: v.First, Value: v.Typical, Low: v.Low, High: v.High, Step: min((v.High-v.Low)/sliderSteps, 2*v.Step(m)), Categories: v.Categories}
	for i := range v.Categories {
		out.Encoded = append(out.Encoded, v.Encode(float64(i)))
	}
	if date := v.Axis().Date; date != nil {
		out.Dates = []int64{date(v.Low).UnixMilli(), date(v.High).UnixMilli()}
	} else if v.Whole && v.High-v.Low <= sliderSteps {
		out.Step = 1
	}
	return out
}

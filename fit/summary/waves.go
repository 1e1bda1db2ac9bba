package summary

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/table/feature"
)

// MissedSeason is a season of a series that a model has neither in its kernel nor in its mean.
type MissedSeason struct {
	Column string       `json:"column"`
	Period float64      `json:"period"`
	Unit   feature.Unit `json:"unit,omitempty"`
	// Mean is the mean with the season; empty if the season drifts, so that a mean cannot follow it.
	Mean string `json:"mean,omitempty"`
}

// advice says what to do about the season.
func (m *MissedSeason) advice() *Advice {
	text := fmt.Sprintf("the target has a season of %s along %s, which the model lacks", m.Unit.Span(m.Period), m.Column)
	if m.Mean == "" {
		return &Advice{Text: text + ": let the fit choose a kernel", Options: map[string]string{"kernel": problem.AutoKernel}}
	}
	return &Advice{Text: text + ": add it to the mean", Options: map[string]string{"mean": m.Mean}}
}

// shownWaves is the number of waves that a text names.
const shownWaves = 6

// single returns the coefficients that are not of waves, of which a season can have many.
func single(all []Coefficient) []Coefficient {
	return slices.DeleteFunc(slices.Clone(all), func(c Coefficient) bool { return c.Period != nil })
}

// waves names the waves of a mean with the largest amplitudes, in original units or units of dates, with their columns; "" without waves.
func waves(all []Coefficient, read *feature.Encoding) string {
	type wave struct {
		name              string // without the cosine or sine
		period, amplitude float64
	}
	var found []wave
	for _, c := range all {
		if c.Period == nil {
			continue
		}
		_, name, _ := strings.Cut(c.Name, "[")
		k := slices.IndexFunc(found, func(w wave) bool { return w.name == name })
		if k < 0 {
			k, found = len(found), append(found, wave{name: name, period: *c.Period})
		}
		found[k].amplitude = math.Hypot(found[k].amplitude, c.OriginalUnits)
	}
	slices.SortStableFunc(found, func(a, b wave) int { return cmp.Compare(b.amplitude, a.amplitude) })
	var texts []string
	along := ""
	for _, w := range found[:min(len(found), shownWaves)] {
		column := w.name[:max(strings.LastIndexByte(w.name, ','), 0)]
		text := fmt.Sprintf("%s with amplitude %.4g", read.Unit(column).Span(w.period), w.amplitude)
		if column != along {
			along, text = column, "along "+column+" "+text
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return ""
	}
	text := "periods " + strings.Join(texts, ", ")
	if more := len(found) - shownWaves; more > 0 {
		text += fmt.Sprintf(", and %d weaker ones (option json lists the coefficients)", more)
	}
	return text
}

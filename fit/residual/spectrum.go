package residual

import "gpfit/fit/internal/spectrum"

// Spectrum has the waves of a series: amplitudes by period, in units of target and column, and the lines that stand out, with the
// periods of which they are harmonics.
type Spectrum struct{ Periods, Amplitudes, LinePeriods, LineAmplitudes, Seasons []float64 }

// NewSpectrum takes the spectrum of a target along a column from all rows, for a picture of at most some points; nil if the times are uneven.
func NewSpectrum(column, target []float64, most int) *Spectrum {
	s := &Spectrum{}
	if s.Periods, s.Amplitudes = spectrum.Amplitudes(column, target, most); s.Periods == nil {
		return nil
	}
	for _, season := range spectrum.Seasons(column, target) {
		periods, amplitudes := season.Lines()
		s.LinePeriods, s.LineAmplitudes = append(s.LinePeriods, periods...), append(s.LineAmplitudes, amplitudes...)
		if !season.Known {
			s.Seasons = append(s.Seasons, season.Period)
		}
	}
	return s
}

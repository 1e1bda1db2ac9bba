package spectrum

import (
	"math"
	"slices"
)

// stepsOfDay are the numbers of rows that a day usually has, from hours to minutes, and stepsOfWeek has a week of days.
// A year has daysOfYear.
var stepsOfDay = []float64{24, 48, 96, 144, 288, 1440}

const stepsOfWeek, daysOfYear = 7, 365.25

// knownSteps are periods in steps that calendars give: the rows of a year, of a week and of a day.
func knownSteps() []float64 {
	out := []float64{4, 12, daysOfYear / stepsOfWeek, daysOfYear, stepsOfWeek}
	for _, day := range stepsOfDay {
		out = append(out, day, stepsOfWeek*day, daysOfYear*day)
	}
	return out
}

// Constants of a period that lines cannot tell from a whole number of steps: how far it may be from the number, and the
// turns over the series by which lines may miss the period of a calendar.
const wholeSteps, calendarTurns = 0.1, 0.5

// ofWeek returns a family whose period is a half or a third of a week of days as harmonics of the week: seven levels may have
// most of their power in one of the three.
func (f family) ofWeek(n float64) family {
	far := f.period * f.period / n
	for k := 2; k <= 3; k++ {
		if math.Abs(f.period-stepsOfWeek/float64(k)) > calendarTurns*far {
			continue
		}
		f.members = slices.Clone(f.members)
		for i := range f.members {
			f.members[i].harmonic *= k
		}
		return f.fitted()
	}
	return f
}

// rounded returns the period of a family in a series of n steps as one of a calendar, or as a whole number of steps, and whether it
// is one. The lines say a frequency to a quarter of a turn over the series, or a half if the series grows.
func (f family) rounded(n float64) (steps float64, whole bool) {
	far := f.period * f.period / (n * float64(f.members[len(f.members)-1].harmonic))
	for _, known := range knownSteps() {
		if math.Abs(f.period-known) <= calendarTurns*far {
			return known, true
		}
	}
	if nearest := math.Round(f.period); far/4 < wholeSteps && math.Abs(f.period-nearest) <= far/4 {
		return nearest, true
	}
	return f.period, false
}

// withCalendar adds the year to seasons of n steps that have a day, or a week of days, if the series has at least one turn of it
// that its lines do not show.
func withCalendar(all []Season, step, n float64) []Season {
	for _, s := range all {
		year := 0.0
		if day := s.Steps / float64(s.Strongest()); slices.Contains(stepsOfDay, day) {
			year = daysOfYear * day
		} else if s.Steps == stepsOfWeek {
			year = daysOfYear
		}
		known := func(o Season) bool { return math.Abs(o.Steps/year-1) < 0.1 }
		if year > 0 && n >= year && !slices.ContainsFunc(all, known) {
			all = append(all, Season{Period: toDigits(year*step, periodDigits), Steps: year, Turns: n / year, Known: true})
		}
	}
	return all
}

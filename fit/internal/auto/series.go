package auto

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/graph"
)

// dearer is how many times the cheapest plan for a series a model may cost.
const dearer = 20

// The rows on which a series compares kernels first, the last ones; the evaluations of a model there; the models
// that go on to all rows, and how far above the best, in BIC, they may be; and their evaluations.
const (
	windowRows          = 9000
	windowValues        = 25
	onAllRows, nearBest = 2, 200
	seriesValues        = 8
)

// seriesKernels explain what the seasons of a series leave. A filter computes with each of them. They are compared in this
// order, and then the best with each of slow, whose lengthscale begins at slowShare of the range.
var (
	seriesKernels = []string{"matern12", "matern32", "matern52", "matern(4.5)"}
	slow          = []string{"matern12", "matern32"}
)

const firstSteps, slowShare = 20, 0.1

// wave is a cycle that drifts; its lengthscale begins at some turns.
const wave, waveTurns = "matern32*cosine", 5

// recurring is a season of any form, which never changes. Forecasts follow its line, which has to lower the BIC by nearLine: less is not
// worth more than a bare mention (Kass & Raftery, JASA 90, 1995).
const recurring, nearLine = "matern12 + periodic", 2

// drifting is a season whose form changes slowly.
const drifting = "matern12 + matern52*periodic"

// Constants of means with seasons. A year that the calendar gives has yearHarmonics, and a season such as a week of days, which can have
// no more than fewHarmonics, has all. The first changing harmonics may change with a season that is at least longer times as long. A line
// needs turnsOfLine of each season, and the clearest wave of an irregular column turnsOfCycle. Periods of two targets that agree to
// sameSeason are one. Each coefficient needs rowsByWave, and a value may take mostProducts: rows times squared numbers of coefficients.
const (
	yearHarmonics    = 2
	fewHarmonics     = 3
	changing, longer = 3, 3
	turnsOfLine      = 2
	sameSeason       = 0.01
	turnsOfCycle     = 3
	rowsByWave       = 10
	mostProducts     = 1.8e9
)

// isSeries reports whether the rows are a series for which a filter is far cheaper than matrices of all rows.
func (c *chooser) isSeries() bool {
	if c.job.Sample.D() != 1 || c.job.N() <= wholeRows || c.job.Experts != nil {
		return false
	}
	costs := make([]float64, 2)
	for i, kernel := range []string{seriesKernels[0], "rbf"} {
		job, err := c.with(kernel, c.job.Options.Mean, nil, c.job.Sample)
		if err != nil {
			return false
		}
		costs[i] = job.Plan(c.w.Backends[0]).FlopsGradient
	}
	return dearer*costs[0] < costs[1]
}

// allOfSeries compares models of a series: kernels on the last rows, and then the best of them and other means on all rows. Random rows
// would hide what neighbours say of each other, and the last rows say little of a season as long as they.
func (c *chooser) allOfSeries() error {
	c.report.TooDear = singles[len(singles)-1:]
	seasons := newSeasonal(c)
	all := c.sample
	c.sample, c.values = lastRows(c, windowRows), windowValues
	mean := seasons.mean(false, false)
	for _, kernel := range seriesKernels {
		if err := c.try(kernel, mean, map[string]float64{"lengthscale": firstSteps * seasons.step}); err != nil {
			return err
		}
	}
	short := c.best
	for _, kernel := range slow {
		if err := c.try(short.Kernel+" + "+kernel, mean, withSlow(short.values(), short.Kernel, seasons.step*float64(c.job.N()))); err != nil {
			return err
		}
	}
	if seasons.cycle > 0 {
		if err := c.try(c.best.Kernel+" + "+wave, mean, withWave(c.best.values(), c.best.Kernel, seasons.cycle)); err != nil {
			return err
		}
	}
	if seasons.seasons != nil {
		if err := c.try(short.Kernel, problem.DefaultMean, map[string]float64{}); err != nil {
			return err
		}
		if c.best.Mean == problem.DefaultMean {
			seasons.seasons = nil
		}
	}
	near := slices.DeleteFunc(slices.Clone(c.tried), func(m *tuned) bool { return m.BIC > c.best.BIC+nearBest })
	slices.SortStableFunc(near, func(a, b *tuned) int { return cmp.Compare(a.BIC, b.BIC) })
	if c.sample != all {
		c.sample, c.values, c.best, c.report.Models, c.report.Rows = all, seriesValues, nil, nil, all.N()
		for _, m := range near[:min(len(near), onAllRows)] {
			if err := c.try(m.Kernel, m.Mean, m.values()); err != nil {
				return err
			}
		}
	}
	return c.otherMeans(seasons)
}

// compare compares models of a series of few rows that has seasons: without them, with them in the mean, and with one of any form in
// the kernel, on a level and on a line, which never changes or does so slowly.
func (s *seasonal) compare(c *chooser) error {
	for _, kernel := range singles[:2] {
		if err := c.try(kernel, c.job.Options.Mean, c.best.values()); err != nil {
			return err
		}
	}
	if err := c.try(c.best.Kernel, "linear", c.best.values()); err != nil {
		return err
	}
	if err := c.try(seriesKernels[0], c.job.Options.Mean, map[string]float64{}); err != nil {
		return err
	}
	for _, mean := range []string{s.mean(false, false), s.mean(false, true)} {
		for _, kernel := range seriesKernels[:2] {
			if mean == "" {
				continue
			}
			if err := c.try(kernel, mean, map[string]float64{}); err != nil {
				return err
			}
		}
	}
	if strings.Contains(c.best.Mean, "seasonal") {
		if err := c.otherMeans(s); err != nil {
			return err
		}
	}
	return s.forms(c)
}

// forms tries seasons of any form in the kernel: one that never changes, which a cycle is not, and one that drifts.
func (s *seasonal) forms(c *chooser) error {
	kernels := []string{recurring, drifting}
	if s.seasons == nil {
		kernels = kernels[1:]
	}
	for _, kernel := range kernels {
		n := len(c.tried)
		for _, mean := range []string{problem.DefaultMean, "linear"} {
			if err := c.try(kernel, mean, s.start(c, kernel)); err != nil || len(c.tried) == n {
				return err
			}
		}
		if level := c.tried[n]; c.best == c.tried[len(c.tried)-1] && level.BIC < c.best.BIC+nearLine {
			c.best = level
		}
	}
	return nil
}

// formed reports whether a kernel has a season of the series in any form, with a known period: one start suffices then.
func (s *seasonal) formed(kernel string) bool {
	return s != nil && (kernel == recurring || kernel == drifting)
}

// start returns start values of a season in the kernel, recurring or drifting.
func (s *seasonal) start(c *chooser, kernel string) map[string]float64 {
	out := map[string]float64{"k1.lengthscale": 0.2, "k1.signal_variance": 0.05, "k2.signal_variance": 0.3, graph.NoiseVariance: 0.01}
	form := "k2."
	if kernel == drifting {
		form, out["k2.k1.lengthscale"] = "k2.k2.", s.step*float64(c.job.N())/2
	}
	out[form+"lengthscale"], out[form+"period"] = 0.5, s.cycle
	if s.seasons != nil {
		out[form+"period"] = s.seasons[0].Period / c.job.Sample.Scalings[0].XScale[0]
	}
	return out
}

// otherMeans tries for the best kernel a season that changes with a longer one, then a line, and for a season that no longer one
// changes a wave that drifts or grows.
func (c *chooser) otherMeans(s *seasonal) error {
	changing := false
	if mean := s.mean(true, false); mean != "" {
		before := c.best
		if err := c.try(c.best.Kernel, mean, c.best.values()); err != nil {
			return err
		}
		changing = c.best != before
	}
	if mean := s.mean(changing, true); mean != "" {
		if err := c.try(c.best.Kernel, mean, c.best.values()); err != nil {
			return err
		}
	}
	if first := s.first(c); first > 0 && !changing && c.series {
		return c.try(c.best.Kernel+" + "+wave, c.best.Mean, withWave(c.best.values(), c.best.Kernel, first))
	}
	return nil
}

// lastRows returns at most some rows of the sample, the last ones of its only column.
func lastRows(c *chooser, most int) *problem.Sample {
	n := c.job.N()
	if n <= most {
		return c.job.Sample
	}
	order := make([]int, n)
	floats.ArgsortStable(slices.Clone(c.job.Sample.Points.Column(0)), order)
	return c.job.Sample.WithRows(order[n-most:])
}

// withSlow returns start values of a kernel plus a slow one from the optimum of the former.
func withSlow(values map[string]float64, kernel string, length float64) map[string]float64 {
	out, own, variance := inSum(values, kernel)
	out[own+"signal_variance"], out[own+"lengthscale"] = roughShare*variance, slowShare*length
	return out
}

// withWave returns start values of a kernel plus a wave from the optimum of the former.
func withWave(values map[string]float64, kernel string, period float64) map[string]float64 {
	out, own, variance := inSum(values, kernel)
	out[own+"signal_variance"], out[own+"k1.lengthscale"], out[own+"k2.period"] = variance, waveTurns*period, period
	return out
}

// seasonal writes the means of a series.
type seasonal struct {
	seasons []spectrum.Season
	given   string  // the mean of the options; "" if the fit may choose it
	step    float64 // the mean step between rows, in scaled units
	cycle   float64 // the period of the strongest cycle, in scaled units; 0 if there is none
	most    int     // harmonics of all seasons
}

// findSeasons finds the seasons of a series of few rows.
func findSeasons(c *chooser) {
	if c.job.Sample.D() == 1 && c.sample == c.job.Sample {
		if s := newSeasonal(c); s.seasons != nil || s.cycle > 0 && ordered(c.job.Sample) {
			c.seasons = s
		}
	}
}

func newSeasonal(c *chooser) *seasonal {
	s, x := c.job.Sample, c.job.Sample.Points.Column(0)
	n := float64(s.N())
	out := &seasonal{step: (floats.Max(x) - floats.Min(x)) / (n - 1), most: int(min(n/rowsByWave, math.Sqrt(mostProducts/n)) / 2)}
	if !c.job.Options.AutoMean() {
		out.given = c.job.Options.Mean
	}
	targets := slices.Collect(slices.Chunk(s.Targets, s.N()))
	if allPositive(c.job) { // a season that grows with its level
		logs := make([]float64, s.N())
		for i := range logs {
			logs[i] = math.Log(s.Y[i])
		}
		targets = append(targets, logs)
	}
	for k, y := range targets {
		if k == s.T() && (out.seasons != nil || out.cycle > 0) {
			break
		}
		for _, season := range spectrum.Seasons(s.X, y) {
			known := func(o spectrum.Season) bool { return math.Abs(o.Steps/season.Steps-1) < sameSeason }
			if season.Cycle {
				out.cycle = cmp.Or(out.cycle, season.Period/s.Scalings[0].XScale[0])
			} else if out.given == "" && !slices.ContainsFunc(out.seasons, known) {
				out.seasons = append(out.seasons, season)
			}
		}
	}
	if period, _ := spectrum.Clearest(s.Points, s.Targets, 0); out.cycle == 0 && len(out.seasons) == 0 && turnsOfCycle*period < floats.Max(x)-floats.Min(x) {
		out.cycle = period
	}
	return out
}

// mean returns the text of a mean with all seasons, on a line or not. It is empty if the options give the mean and another one is
// asked for: if no season could change with a longer one, or if a line beside the longest season would follow its slope.
func (s *seasonal) mean(changes, line bool) string {
	if s.given != "" {
		if changes || line {
			return ""
		}
		return s.given
	}
	text := problem.DefaultMean
	if line {
		text = "linear"
	}
	var terms []seasonTerm
	var short, long spectrum.Season // whose periods are the shortest and the longest
	parts := 0
	for _, season := range s.seasons {
		if line && season.Turns < turnsOfLine {
			return ""
		}
		k := season.Strongest()
		part := season // of which the strongest line is the first harmonic
		part.Period, part.Steps = season.Period/float64(k), season.Steps/float64(k)
		harmonics := yearHarmonics
		if !season.Known {
			harmonics = season.Harmonics(k, false) / k
		}
		if harmonics = min(harmonics, below(part.Steps)); below(part.Steps) <= fewHarmonics {
			harmonics = below(part.Steps)
		}
		if terms = append(terms, seasonTerm{part.Period, harmonics, ""}); short.Steps == 0 || part.Steps < short.Steps {
			short, parts = part, harmonics
		}
		if k > 1 {
			terms = append(terms, seasonTerm{season.Period, min(season.Harmonics(k, true), below(season.Steps)), ""})
		}
		if season.Steps > long.Steps {
			long = season
		}
	}
	if changes {
		if long.Steps < longer*short.Steps || len(s.seasons) == 0 {
			return ""
		}
		terms = append(terms, seasonTerm{short.Period, min(parts, changing), fmt.Sprintf(", by=%v", long.Period)})
	}
	return text + s.texts(terms)
}

// seasonTerm is a season of a mean, whose text may say that it changes with a longer one.
type seasonTerm struct {
	period    float64
	harmonics int
	by        string
}

// texts returns terms as text. If they have too many harmonics together, the terms with the fewest keep theirs.
func (s *seasonal) texts(terms []seasonTerm) (text string) {
	order, left := make([]*seasonTerm, len(terms)), s.most
	for i := range terms {
		order[i] = &terms[i]
	}
	slices.SortStableFunc(order, func(a, b *seasonTerm) int { return cmp.Compare(a.harmonics, b.harmonics) })
	for i, t := range order {
		t.harmonics = min(t.harmonics, left/(len(order)-i))
		left -= t.harmonics
	}
	for _, t := range terms {
		if t.harmonics > 0 {
			text += fmt.Sprintf(" + seasonal(%v, %d%s)", t.period, t.harmonics, t.by)
		}
	}
	return text
}

// first returns the period of the strongest wave of the seasons in scaled units; 0 without seasons.
func (s *seasonal) first(c *chooser) float64 {
	if len(s.seasons) == 0 {
		return 0
	}
	one := s.seasons[0]
	return one.Period / float64(one.Strongest()) / c.job.Sample.Scalings[0].XScale[0]
}

// below returns the largest number of harmonics of a period in steps whose waves all differ on the rows.
func below(steps float64) int { return int(math.Ceil(steps/2)) - 1 }

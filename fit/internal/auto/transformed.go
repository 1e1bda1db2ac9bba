package auto

import (
	"slices"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/internal/transform"
	"gpfit/table/feature"
)

// A transform that nobody asked for has to lower the BIC in original units by clearBIC, and the negative logarithm of the
// leave-one-out density by clearNats. Fewer than fewestRows get none.
const (
	clearBIC, clearNats = 10, 5
	fewestRows          = 30
)

// transformed returns the choice with a transform of the target, if the job leaves that open and one is clearly better; else the
// choice itself. The choice with a transform compares all models again. An error is always a cancellation.
func (c *chooser) transformed() (*chooser, error) {
	if !c.job.ChoosesTransform() || c.job.N() < fewestRows || c.series && ordered(c.job.Sample) {
		return c, nil
	}
	report, err := c.clearTransform()
	if err == nil && report != nil && report.Kind != transform.None {
		var other *chooser
		if other, err = c.choiceWith(report.Kind); other != nil && err == nil && other.original() < c.original()-clearBIC && c.seasons.mayGrow(other.best) {
			other.tried, other.report.Transform = append(other.tried, c.tried...), report
			return other, nil
		} else if other != nil {
			c.tried = append(c.tried, other.tried...)
		}
		report.Kind = transform.None
	}
	if c.report.Transform = report; !problem.IsCancelled(err) {
		err = nil
	}
	return c, err
}

// choiceWith compares all models with a transform. If the best model of a series with seasons gains nothing by it, it stops there.
func (c *chooser) choiceWith(kind transform.Name) (*chooser, error) {
	prepared, err := c.job.WithTransform(kind, nil)
	if err != nil {
		return nil, err
	}
	job := c.job.With(func(p *problem.Prepared) { *p = *prepared })
	fresh := func() *chooser {
		tuning.Rebind(c.w, job)
		other := newChooser(c.ctx, c.w, c.log)
		other.begun, other.spent = c.begun, c.spent
		return other
	}
	if c.seasons != nil {
		same := fresh()
		err := same.try(c.best.Kernel, c.best.Mean, c.best.values())
		if c.begun, c.tried = same.begun, append(c.tried, same.tried...); same.best == nil || err != nil || !(same.original() < c.original()) {
			return nil, err
		}
	}
	other := fresh()
	err = other.all()
	if other.best == nil {
		return nil, err
	}
	return other, err
}

// mayGrow reports whether a season may grow with its level as a model says: a cycle, which the calendar does not give, only with a trend.
func (s *seasonal) mayGrow(m *tuned) bool {
	return s == nil || s.seasons != nil || m.Mean == "linear"
}

// original is the BIC of the best in original units.
func (c *chooser) original() float64 {
	return c.best.BIC + 2*units(c.best.job)*float64(c.job.N())/float64(c.sample.N())
}

// ordered reports whether the rows of one column are a series: they ascend, and are dates or have regular steps. Other columns, such
// as concentrations, hardly ask for values beyond the last one.
func ordered(s *problem.Sample) bool {
	if s.D() != 1 {
		return false
	}
	x, sources := s.Points.Column(0), s.Data.Encoding.Sources()
	date := sources != nil && s.Data.Encoding.Columns[sources[s.Columns[0]]].Kind == feature.Date
	return slices.IsSorted(x) && (date || spectrum.Regular(x))
}

// clearTransform compares transforms with the best model: Yeo & Johnson's, which takes all targets, and if that is clearly better the
// others. A series takes the logarithm at once if it has seasons, which often grow with its level, and nothing otherwise: the
// logarithm of a trend grows without bound after its end.
func (c *chooser) clearTransform() (*summary.TransformReport, error) {
	if ordered(c.job.Sample) {
		if !allPositive(c.job) || c.seasons == nil {
			return nil, nil
		}
		return &summary.TransformReport{Kind: transform.Log}, nil
	}
	job, err := c.with(c.best.Kernel, c.best.Mean, nil, c.job.Sample)
	if err != nil {
		return nil, err
	}
	t := newTransforms(&tuning.Workplace{Job: job, Backends: c.w.Backends, Crew: c.w.Crew}, c.log)
	defer func() { c.spent.Add(t.spent) }()
	t.best, t.beat = problem.FoundValues(c.best.values()), true
	var none *tuned
	var least float64
	for _, kinds := range [][]transform.Name{{transform.None}, {transform.YeoJohnson}, {transform.Log, transform.BoxCox}} {
		if err := t.all(c.ctx, kinds...); err != nil {
			return nil, err
		}
		if none == nil {
			none, least = t.won, *t.report.Candidates[0].BIC-clearBIC
		} else if clear, err := c.clearly(t.won, none); err != nil || !clear || *t.report.Candidates[0].BIC > least {
			t.report.Kind = transform.None
			return &t.report, err
		}
	}
	return &t.report, nil
}

// clearly reports whether a model gives rows that are left out a clearly higher density than another.
func (c *chooser) clearly(models ...*tuned) (bool, error) {
	var nats [2]float64
	for i, m := range models {
		s, err := m.job.Open(c.ctx, c.w.Backends[0])
		if err != nil {
			return false, err
		}
		_, places, err := s.LeaveOut(c.ctx, m.result.X)
		s.Close()
		if err != nil { // such as a row that alone determines a coefficient
			return false, err
		}
		nats[i] = (places.Density + units(m.job)) * float64(c.job.N()) / float64(m.job.N())
	}
	return nats[0] < nats[1]-clearNats, nil
}

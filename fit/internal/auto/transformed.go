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
// leave-one-out density by clearNats.
const clearBIC, clearNats = 10, 5

// withColumns returns the choice with transforms of the columns that have long tails, if that is clearly better; else the choice itself.
// An error is always a cancellation.
func (c *chooser) withColumns() (*chooser, error) {
	prepared := longTails(c.job)
	if prepared == nil || c.series || c.seasons != nil {
		return c, nil
	}
	other, err := c.choiceWith(prepared, clearBIC)
	if other != nil && err == nil {
		err = other.all()
	}
	if other != nil && other.best != nil && err == nil && other.best.original(other.job) < c.best.original(c.job)-clearBIC {
		var clear bool
		if clear, err = c.clearly(other.best, c.best); clear {
			other.tried, other.report.Transform = append(other.tried, c.tried...), c.report.Transform
			return other, nil
		}
	}
	return c.without(other, err)
}

// longTails returns the problem of a job with transforms of the columns that have long tails; nil without any, and if it may have none.
func longTails(job *tuning.Job) *problem.Prepared {
	if open, _ := job.ChoosesTransforms(); open {
		if p, err := job.WithTransforms(transform.Skewed, job.Options.TargetTransform, nil); err == nil && p.Sample.Scalings[0].XTransforms != nil {
			return p
		}
	}
	return nil
}

// transformed returns the choice with a transform of the target, if the job leaves that open and one is clearly better; else the
// choice itself. The choice with a transform compares all models again. An error is always a cancellation.
func (c *chooser) transformed() (*chooser, error) {
	if _, open := c.job.ChoosesTransforms(); !open || c.series && ordered(c.job.Sample) {
		return c, nil
	}
	report, err := c.clearTransform()
	var other *chooser
	if err == nil && report != nil && report.Kind != transform.None {
		var prepared *problem.Prepared
		gain := -1.0
		if c.seasons != nil {
			gain = 0
		}
		if prepared, err = c.job.WithTransforms(c.job.Options.InputTransform, report.Kind, nil); err == nil {
			other, err = c.choiceWith(prepared, gain)
		}
		if other != nil && err == nil {
			err = other.all()
		}
		if other != nil && other.best != nil && err == nil && other.best.original(other.job) < c.best.original(c.job)-clearBIC && c.seasons.mayGrow(other.best) {
			other.tried, other.report.Transform = append(other.tried, c.tried...), report
			return other, nil
		}
		report.Kind = transform.None
	}
	c.report.Transform = report
	return c.without(other, err)
}

// without returns the choice after another that was no better. An error is a cancellation.
func (c *chooser) without(other *chooser, err error) (*chooser, error) {
	if other != nil && other.best != nil {
		c.tried, c.begun = append(c.tried, other.tried...), other.begun
	}
	if !problem.IsCancelled(err) {
		err = nil
	}
	return c, err
}

// choiceWith returns the choice among all models of a problem with other transforms, before it begins; nil if the best model does not
// gain as much as it has to.
func (c *chooser) choiceWith(prepared *problem.Prepared, gain float64) (*chooser, error) {
	job := c.job.With(func(p *problem.Prepared) { *p = *prepared })
	fresh := func() *chooser {
		tuning.Rebind(c.w, job)
		other := newChooser(c.ctx, c.w, c.log)
		other.begun, other.spent = c.begun, c.spent
		return other
	}
	if gain >= 0 {
		same := fresh()
		err := same.try(c.best.Kernel, c.best.Mean, c.best.values())
		if c.begun, c.tried = same.begun, append(c.tried, same.tried...); same.best == nil || err != nil || !(same.best.original(job) < c.best.original(c.job)-gain) {
			return nil, err
		}
	}
	return fresh(), nil
}

// mayGrow reports whether a season may grow with its level as a model says: a cycle, which the calendar does not give, only with a trend.
func (s *seasonal) mayGrow(m *tuned) bool {
	return s == nil || s.seasons != nil || m.Mean == "linear"
}

// original is the BIC in original units of all rows of a job.
func (m *tuned) original(whole *tuning.Job) float64 {
	return m.BIC + 2*units(m.job)*float64(whole.N())/float64(m.job.N())
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

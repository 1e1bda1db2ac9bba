package fit

import (
	"context"
	"slices"

	"gpfit/fit/problem"
	"gpfit/gp"
)

const leastNoise = 1e-6

// drawSecond gives every other draw of an average to the second model of the choice. Few rows hardly tell models apart, and the
// average of two predicts better than either. It leaves the draws as they are if the second cannot be drawn, if the rows have
// noise of their own, or if the second has hardly any noise: less than leastNoise, or than a floor of the first.
func (c *closing) drawSecond(ctx context.Context, exact bool) error {
	own, m := c.out.Model.Draws, c.second
	if m == nil || exact || c.w.Job.Averaging == "" || c.w.Job.Options.Robust || own.Coefficients != nil {
		return nil
	}
	least := leastNoise
	if c.floor != nil && c.floor.Raised {
		least = c.floor.Floor
	}
	if noise, _ := estimatedNoise(m.Job.Prepared, nil, m.X); noise >= 0 && noise < least {
		return nil
	}
	job := m.Job.With(func(p *problem.Prepared) { p.Options.Posterior = problem.AutoPosterior })
	s, err := job.Open(ctx, c.w.Backends[0])
	if err == nil {
		defer s.Close()
		if s.Workspace.Method() != c.s.Workspace.Method() {
			return nil
		}
		p := newPosterior(job, m.X, c.log.Part("second-"))
		var d *draws
		if d, err = p.sample(ctx, c.w.Backends[0], s, nil); err == nil {
			_, err = s.Value(ctx, m.X)
		}
		if err == nil {
			model := s.Model(m.X, "")
			c.out.Model.Draws = shared(own, p.modelDraws(d), model)
			c.out.Report.Predictions += "; half of them of a second model, " + model.Kernel
		}
	}
	if problem.IsCancelled(err) || isJournal(err) {
		return err
	}
	return nil
}

// shared returns every other draw of two models of the same rows. Draws of the second come last.
func shared(own, second *gp.Draws, of *gp.Model) *gp.Draws {
	return &gp.Draws{
		Method: own.Method, Group: own.Group, Kernel: of.Kernel, Mean: &of.Mean, From: (own.Len() + 1) / 2, Lambda: slices.Concat(half(own.Lambda), half(second.Lambda)),
		Theta: slices.Concat(half(own.Theta), half(second.Theta)), Noise: slices.Concat(half(own.Noise), half(second.Noise)),
	}
}

// half returns every other element.
func half[T any](v []T) (out []T) {
	for k := 0; k < len(v); k += 2 {
		out = append(out, v[k])
	}
	return out
}

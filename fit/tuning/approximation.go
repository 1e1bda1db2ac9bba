package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
)

// Tolerance returns the bound that is wanted of the error of the NLML in a fit of the job.
func (j *Job) Tolerance() float64 { return cmp.Or(j.Options.Tolerance, device.DefaultTolerance) }

// goExact goes on with an exact method if one with a bound refuses the parameters of an evaluation: its ranks depend on them, and at the
// first parameters it may have too few digits. The job then chose the method by itself, and an exact one has room. Otherwise the error of
// the evaluation remains.
func (s *Placement) goExact(ctx context.Context, err error) (gone bool, rest error) {
	_, bounded := s.Workspace.(device.Bounded)
	digits := s.asked <= 1 && device.IsNotPD(err)
	if !bounded || !digits && !isA[*device.UnsupportedError](err) {
		return false, err
	}
	if digits && !strings.Contains(err.Error(), "too few digits") {
		err = fmt.Errorf("the method %s has too few digits there, and dense may have enough: %w", s.Workspace.Method(), err)
	}
	exact := device.Exactly(s.from, s.Job.workload())
	if exact == nil {
		return false, err
	}
	_ = s.Workspace.Close()
	s.Workspace = nil
	if failed := s.on(ctx, exact); failed != nil {
		return false, errors.Join(err, failed)
	}
	warning := fmt.Sprintf("%v: gpfit continued with the method %s from evaluation %d", err, s.Workspace.Method(), s.asked)
	s.Warnings = append(s.Warnings, warning)
	if s.Job.Events.OnWarning != nil {
		s.Job.Events.OnWarning(warning)
	}
	return true, nil
}

// correction has for each target what the check of an approximation adds to the data fit. The evaluation had the weights alpha.
type correction struct {
	fits, alpha []float64
	of          *graph.Kept
}

// Approximate sets Approximation for the last evaluation, at z, if the method is not exact but bounds its error. It compares
// with elements of Σ, and corrects the data fits of [Placement.Terms] by them.
func (s *Placement) Approximate(ctx context.Context, z []float64) error {
	s.Approximation, s.correction = nil, correction{}
	if _, ok := s.Workspace.(device.Bounded); !ok {
		return nil
	}
	kept := s.Objective.Keep(z)
	if err := s.Objective.Restore(ctx); err != nil {
		return err
	}
	residuals := s.Model(z, "").Residuals()
	_, _, alpha := s.Objective.Theta()
	wanted := gp.Approximation{Tolerance: s.Job.Tolerance(), Tightened: s.Job.Tightened}
	a, fits, err := wanted.Of(ctx, s.Workspace, residuals, alpha, s.Job.Sample.T())
	if s.Approximation, s.correction = a, (correction{fits, alpha, kept}); err == nil && a.Unknown() {
		if err = kept.Recall(s.Objective); err == nil { // a solution without digits has left no factor
			err = s.Objective.Restore(ctx)
		}
	}
	return err
}

// Continue makes the evaluation that another placement of the same problem approximated the last one.
func (s *Placement) Continue(other *Placement) error {
	s.Best, s.Approximation, s.correction = other.Best, other.Approximation, other.correction
	return s.correction.of.Recall(s.Objective)
}

// Terms returns the parts of the last evaluation, corrected if the last call of Approximate was for this evaluation.
func (s *Placement) Terms() graph.Terms {
	t := s.Objective.Terms()
	if s.correction.fits == nil {
		return t
	}
	if _, _, alpha := s.Objective.Theta(); !slices.Equal(alpha, s.correction.alpha) {
		return t
	}
	t.DataFits = slices.Clone(t.DataFits)
	for i, v := range s.correction.fits {
		t.DataFits[i] += v
		t.DataFit += v
	}
	return t
}

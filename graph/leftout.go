package graph

import (
	"context"
	"errors"
	"math"
	"slices"

	"gpfit/gp/leavegroupout"
	"gpfit/internal/score"
)

// LeftOut scores predictions of rows that are left out, at the parameters of the other ones.
type LeftOut struct {
	// Density is the negative log predictive density, −Σ log p(y_i | the others), over all targets.
	Density float64
	// Squares are the mean squared errors of the targets.
	Squares []float64
	// Places is the number of places if the rows of a place were left out together, 0 otherwise.
	Places int
	// Errors are the observations minus their predictions, one target after the other, and
	// Variances the variances of the observations, both in the units of the targets.
	Errors, Variances []float64
}

// LeaveOneOut scores the prediction of each row from all others at the parameters of the last
// successful evaluation, for any objective. It costs 2n³/3 operations. Errors are
// [*device.UnsupportedError], [*LeverageError] and the errors of [device.Workspace].
func (o *Objective) LeaveOneOut(ctx context.Context) (LeftOut, error) {
	s := o.solver
	if !s.solved {
		return LeftOut{}, errors.New("graph: leave-one-out needs an evaluation first")
	}
	s.ctx = ctx
	defer func() { s.ctx = context.Background() }()
	l, err := s.out.leaveOneOut()
	if err != nil {
		return LeftOut{}, err
	}
	out := LeftOut{Density: l.density + o.jacobian(), Squares: slices.Clone(l.squares), Errors: slices.Clone(l.a)}
	for _, q := range l.v {
		out.Variances = append(out.Variances, 1/q)
	}
	return out, nil
}

// FoldScores scores, after an evaluation of an objective with folds, the prediction of each row
// from the other folds. Without folds, Squares are nil.
func (o *Objective) FoldScores() LeftOut {
	l := o.solver.out.held
	if l == nil {
		return LeftOut{}
	}
	return LeftOut{Density: l.density + o.jacobian(), Squares: slices.Clone(l.squares), Errors: slices.Clone(l.a), Variances: slices.Clone(l.v)}
}

// LeavePlacesOut is LeaveOneOut for places: each row is predicted from the rows with other inputs.
// It costs a system more for each place with several rows ([leavegroupout.Leave]), at most n³ operations.
// If no inputs repeat, it is LeaveOneOut.
func (o *Objective) LeavePlacesOut(ctx context.Context) (LeftOut, error) {
	s := o.solver
	out, err := o.LeaveOneOut(ctx)
	if s.repeated == nil {
		repeated := leavegroupout.Repeated(s.ws, s.identity.x)
		s.repeated = &repeated
	}
	if err != nil || len(*s.repeated) == 0 {
		return out, err
	}
	l := s.out.left
	e, v := out.Errors, out.Variances
	noise := slices.Clone(s.noise)
	for i := range noise {
		noise[i] += s.jitter
	}
	fitted := leavegroupout.Fitted{Noise: noise, Alpha: s.alpha, Mean: l.w}
	if err := leavegroupout.Leave(ctx, s.ws, *s.repeated, fitted, e, v); err != nil {
		s.formed, s.solved = false, false
		return LeftOut{}, err
	}
	out = LeftOut{Density: o.jacobian(), Squares: make([]float64, s.targets), Places: leavegroupout.Count(len(v), *s.repeated), Errors: e, Variances: v}
	for k, err := range e {
		v := v[k%len(v)]
		if !(v > 0) {
			return LeftOut{}, &LeverageError{Index: k % len(l.v)}
		}
		out.Density += score.NegLogNormal(err*err/v, math.Log(v), 1)
		out.Squares[k/len(l.v)] += err * err / float64(len(l.v))
	}
	return out, nil
}

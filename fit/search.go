package fit

import (
	"context"

	"gpfit/fit/internal/auto"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/transform"
)

// found is the best that the searches of a fit have found so far, for the job that the workplace then has.
type found struct {
	result *hyperopt.Result
	// spent are evaluations before the result.
	spent descent.Evaluations
	// transform, choice and floor say what was chosen and decided; nil if there was nothing to choose.
	transform *summary.TransformReport
	choice    *summary.ModelChoice
	floor     *summary.NoiseFloorReport
	// second is another model to average with; nil without.
	second *auto.Second
}

// A search is a step of a fit. It continues the best so far, if the job asks for that, or leaves it. An error ends the
// fit; a result beside it is the best until then.
type search func(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) error

// searches are the steps of a fit, in order.
var searches = []search{chooseTransform, chooseModel, tuneGiven, giveRowsNoise, raiseFloor, giveRowsNoiseAgain}

// tune tunes and returns an outcome with the model. Its errors have the best parameters found.
// late ends some time after ctx.
func tune(ctx, late context.Context, w *tuning.Workplace, log *journal.Journal) (*Outcome, error) {
	c, err := &closing{w: w, log: log, late: late}, error(nil)
	for _, step := range searches {
		if err = step(ctx, w, log, &c.found); err != nil {
			break
		}
	}
	if c.result != nil {
		c.result.Total.Add(c.spent)
	}
	switch result := c.result; {
	case problem.IsCancelled(err) && w.Job.Options.DiscardCancelled:
		return nil, &problem.CancelledError{Msg: "interrupted", Err: err}
	case problem.IsCancelled(err) && (result == nil || result.X == nil):
		return nil, &problem.CancelledError{Msg: "interrupted before the first evaluation: there is no model to write", Err: err}
	case problem.IsCancelled(err):
		c.cancel("interrupted: this is the best point so far", err)
		err = nil
	case err != nil:
		err = w.Job.ExplainFit(err)
	}
	var out *Outcome
	if err == nil {
		w.Job.Meter.Step(1)
		out, err = c.settle(ctx)
	}
	if err != nil {
		return nil, c.failed(err)
	}
	return out, c.cancelled
}

// chooseTransform chooses the transform of the target if that was left open.
func chooseTransform(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) (err error) {
	if w.Job.Options.TargetTransform == transform.Auto {
		best.transform, best.spent, err = auto.Transform(ctx, w, log)
	}
	return err
}

// chooseModel chooses kernel and mean if they were left open, and tunes them.
func chooseModel(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) (err error) {
	if !w.Job.Options.Auto() {
		return nil
	}
	if w.Job.Options.Robust { // a row that is far off must not choose the kernel
		if _, err := searchRows(ctx, w, w.Job.Params.Start(), worthChoice, log.Part("robust/").Sequence("rows")); err != nil {
			return err
		}
		best.spent.Add(searchCost)
	}
	if best.result, best.choice, best.second, err = auto.Tune(ctx, w, log); best.choice != nil && best.choice.Transform != nil {
		best.transform = best.choice.Transform
	}
	return err
}

// tuneGiven tunes the given model.
func tuneGiven(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) (err error) {
	if best.result == nil && !w.Job.Options.Robust {
		best.result, err = tuneFound(ctx, w, log)
	}
	return err
}

// giveRowsNoise finds rows that do not fit with option robust, gives them noise variances of their own, and tunes.
func giveRowsNoise(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) (err error) {
	if w.Job.Options.Robust {
		best.result, err = tuneRobust(ctx, w, log, best.result)
	}
	return err
}

// raiseFloor continues with a floor of the noise if the result interpolates.
func raiseFloor(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) (err error) {
	best.floor, err = chooseFloor(ctx, w, best.result, log)
	return err
}

// giveRowsNoiseAgain does so above a floor that was raised: an interpolator hides rows that do not fit.
func giveRowsNoiseAgain(ctx context.Context, w *tuning.Workplace, log *journal.Journal, best *found) error {
	if best.floor == nil || !best.floor.Raised {
		return nil
	}
	return giveRowsNoise(ctx, w, log.Part("raised/"), best)
}

// freshNoise is where noise begins that an earlier fit found too small, as a share of the targets' variance.
const freshNoise = 0.1

// tuneFound tunes one model. The little noise that an earlier fit found can leave the covariance of other
// rows singular: then the noise begins with more.
func tuneFound(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*hyperopt.Result, error) {
	result, err := hyperopt.Tune(ctx, w, w.Job.Settings(w.Backends[0]), log)
	if _, undefined := descent.Undefined(err); !undefined {
		return result, err
	}
	any, least := false, freshNoise*w.Job.Model.TargetVariance(w.Job.Sample)
	fresh := w.Job.Params.Changed(func(_ int, q *problem.Parameter) {
		if q.Group == graph.NoiseVariance && q.Found && !q.Fixed && q.Start < least {
			q.Start, any = min(least, q.Upper), true
		}
	})
	if !any {
		return result, err
	}
	tuning.Rebind(w, w.Job.With(func(p *problem.Prepared) { p.Params = fresh }))
	return hyperopt.Tune(ctx, w, w.Job.Settings(w.Backends[0]), log.Part("noise/"))
}

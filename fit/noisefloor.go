package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gpfit/fit/internal/starts"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/textform"
)

// A likelihood can be highest where the model passes through the targets although they have noise: a
// few copies of rows raise it without limit as the noise goes to 0, and a short lengthscale explains
// noise as a part of the function. Such a fit is sure of what it has seen, and hardly allows another
// observation there. So if the noise is far below the errors of predictions at other places, the fit
// continues with a floor of the noise, and keeps that end if it predicts as well.

// A noise is examined if its standard deviation is at most a share of the place-out error, and the
// floors to try are shares of that error. Copies of rows leave the noise open, so more is tried. If a model at a
// floor hardly predicts, with a standardized error of hardlyPredicts, the targets may be only noise. Where no digit is left,
// they are multiples of the noise.
var (
	plainFloors  = []float64{0.1, 0.03}
	copiesFloors = []float64{0.5, 0.3, 0.1}
	hardlyFloors = []float64{0.9, 0.5}
	digitFloors  = []float64{10, 100}
)

const hardlyPredicts = 0.9

const (
	// digitLoss is the increase of the place-out error, in standard deviations of the target, with which a floor is
	// accepted that leaves digits.
	digitLoss = 1e-3
	// floorFrom is the number of rows from which the decision is made; fewer say little about errors.
	floorFrom = 30
	// copyShare is the share of the rows from which on copies are evidence of exact targets. Concrete,
	// measurements of which some are in the table twice, has 2.4 %.
	copyShare = 0.1
	// copyLoss is the largest relative increase of the leave-one-out error with which a floor is
	// accepted if there are copies. Their density says nothing: it is highest without noise.
	copyLoss = 0.05
	// toldRepeats is the number of rows that repeat inputs with other targets from which on, if copies are no
	// more, these rows tell the noise, and errors at other places do not.
	toldRepeats = 10
	// moreStartsUpTo is the number of rows up to which descents begin at start values, too.
	moreStartsUpTo = 1000

	floorStep = "floor" // in the path of a fit
)

// floorChoice decides about the noise of a result.
type floorChoice struct {
	w      *tuning.Workplace
	s      *tuning.Placement
	result *hyperopt.Result
	log    *journal.Journal
	report *summary.NoiseFloorReport
	// rows is the score of single rows at the result, which includes the copies.
	rows *summary.LeaveOneOutScore
}

// chooseFloor continues a result that interpolates, or whose covariance leaves no digit, with a floor of the noise if that
// predicts as well. It changes the result and the job of w. The report is nil if there was nothing to decide.
func chooseFloor(ctx context.Context, w *tuning.Workplace, result *hyperopt.Result, log *journal.Journal) (*summary.NoiseFloorReport, error) {
	if !w.Job.ChoosesFloor() || result.Status == descent.StatusCancelled {
		return nil, nil
	}
	s, err := w.First(ctx)
	if err != nil {
		return nil, err
	}
	c := &floorChoice{w: w, s: s, result: result, log: log.Part("floor-")}
	decided, err := c.ofErrors(ctx)
	if err != nil || decided != nil && decided.Raised {
		return decided, err
	}
	raised, err := c.ofDigits(ctx)
	return cmp.Or(raised, decided), err
}

// ofErrors decides if the noise is far below the errors of predictions.
func (c *floorChoice) ofErrors(ctx context.Context) (*summary.NoiseFloorReport, error) {
	j := c.w.Job
	if !c.result.Status.Converged() || j.N() < floorFrom {
		return nil, nil
	}
	variance, _ := estimatedNoise(j.Prepared, nil, c.result.X)
	known := summary.Facts{Noise: math.Sqrt(variance) / deviation(j.Prepared), Copies: j.Sample.Copies(), Missed: 1}
	if known.Found(summary.Floor) == nil || float64(known.Copies) >= copyShare*float64(j.N()) {
		return nil, nil
	}
	rows, places, err := c.score(ctx, c.result.X)
	if places == nil || err != nil {
		return nil, err
	}
	if known.Missed = places.RMSEStandardized; known.Found(summary.Floor) == nil {
		return nil, nil
	}
	if places.Places > 0 && j.N()-places.Places-known.Copies >= max(toldRepeats, known.Copies) {
		return nil, nil
	}
	c.rows, c.report = rows, &summary.NoiseFloorReport{NoiseVariance: variance, Objective: c.result.F, Copies: known.Copies, Before: places}
	shares := plainFloors
	if known.Copies > 0 {
		shares = copiesFloors
	}
	if err := c.tryShares(ctx, shares); err != nil {
		return c.report, err
	}
	return c.report, c.noiseAlone(ctx)
}

// tryShares tries floors that are shares of the place-out error until one is accepted.
func (c *floorChoice) tryShares(ctx context.Context, shares []float64) error {
	for _, share := range shares {
		floor := share * c.report.Before.RMSEStandardized * deviation(c.w.Job.Prepared)
		if err := c.try(ctx, oneDigit(floor*floor)); err != nil || c.report.Raised {
			return err
		}
	}
	return nil
}

// ofDigits decides if the condition of the covariance leaves few digits. More noise is accepted as long as it leaves more.
func (c *floorChoice) ofDigits(ctx context.Context) (*summary.NoiseFloorReport, error) {
	j := c.w.Job
	variance, _ := estimatedNoise(j.Prepared, nil, c.result.X)
	if !tiny(j.Prepared, variance) {
		return nil, nil
	}
	known, err := c.digits(ctx, c.result.X)
	if err != nil || known.Found(summary.Floor) == nil {
		return nil, err
	}
	rows, places, err := c.score(ctx, c.result.X)
	c.rows, c.report = rows, &summary.NoiseFloorReport{NoiseVariance: variance, Objective: c.result.F, FewDigits: *known.Digits, Before: places}
	for _, times := range digitFloors {
		if err == nil && known.Found(summary.Floor) != nil {
			err = c.try(ctx, oneDigit(times*variance))
			known.Digits = c.s.Digits
		}
	}
	return c.report, err
}

// digits returns the digits that the condition of the covariance at z leaves.
func (c *floorChoice) digits(ctx context.Context, z []float64) (summary.Facts, error) {
	_, err := c.s.Value(ctx, z)
	c.s.EstimateCondition(ctx)
	return summary.Facts{Digits: c.s.Digits}, err
}

// noiseAlone tries whether a model at a floor, which hardly predicts, predicts as well with much more noise.
func (c *floorChoice) noiseAlone(ctx context.Context) error {
	variance, _ := estimatedNoise(c.w.Job.Prepared, nil, c.result.X)
	if !c.report.Raised || c.report.Copies > 0 || c.report.After.RMSEStandardized < hardlyPredicts || variance > 2*c.report.Floor {
		return nil
	}
	for _, share := range hardlyFloors {
		before := *c.report
		if err := c.tryShares(ctx, []float64{share}); err != nil || c.report.Raised {
			return err
		}
		*c.report = before
	}
	return nil
}

// score returns the leave-one-out scores of single rows and of places at z, nil if they are undefined.
func (c *floorChoice) score(ctx context.Context, z []float64) (rows, places *summary.LeaveOneOutScore, err error) {
	one, all, err := c.s.LeaveOut(ctx, z)
	var leverage *graph.LeverageError
	if errors.As(err, &leverage) || err == nil && problem.NotFinite(all.Density) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	j := c.w.Job
	return newPredictiveScore(j.Sample, ofTarget(j.Prepared, z, one)), newPredictiveScore(j.Sample, ofTarget(j.Prepared, z, all)), nil
}

// try descends with a floor and accepts the end if it predicts as well as the first result.
func (c *floorChoice) try(ctx context.Context, floor float64) error {
	j := c.w.Job.With(func(p *problem.Prepared) { p.Params = p.Params.WithFloor(floor) })
	end, err := c.descend(ctx, j, floor)
	if end == nil || err != nil {
		return err
	}
	c.result.Total.Add(end.Evaluations)
	c.result.FullSize.Add(end.Evaluations)
	rows, places, err := c.score(ctx, end.X)
	if places == nil || err != nil || end.Status == descent.StatusCancelled {
		return err
	}
	if c.report.FewDigits != 0 {
		return c.tryDigits(ctx, j, end, floor, rows, places)
	}
	switch c.report.Floor, c.report.After = floor, places; {
	case c.report.Copies > 0:
		c.report.Raised = rows.RMSEStandardized <= (1+copyLoss)*c.rows.RMSEStandardized
	default:
		c.report.Raised = places.Sum <= c.report.Before.Sum+nearNats
	}
	if c.report.Raised {
		c.accept(j, end)
	}
	return nil
}

// tryDigits accepts an end with a floor if it leaves more digits and predicts as well.
func (c *floorChoice) tryDigits(ctx context.Context, j *tuning.Job, end *descent.Result, floor float64, rows, places *summary.LeaveOneOutScore) error {
	r := c.report
	known, err := c.digits(ctx, end.X)
	if err != nil || known.Digits == nil {
		return err
	}
	better := *known.Digits > r.FewDigits && (c.rows == nil || rows.RMSEStandardized <= c.rows.RMSEStandardized+digitLoss)
	if better || !r.Raised {
		r.Floor, r.After = floor, places
	}
	if better {
		r.Raised = true
		c.accept(j, end)
	}
	return nil
}

// descend returns the best end with a floor, from the result with a moderate noise, from the best other
// optimum above the floor, from the start values and from much noise; nil if the objective is not defined there.
func (c *floorChoice) descend(ctx context.Context, j *tuning.Job, floor float64) (*descent.Result, error) {
	moderate := slices.Clone(c.result.X)
	for i, q := range j.Params.Free {
		if q.Group == graph.NoiseVariance {
			moderate[i] = max(q.Z(10*floor), moderate[i])
		}
	}
	from := []descent.Start{{Z: moderate}}
	if other := slices.IndexFunc(c.result.Optima, func(o hyperopt.Optimum) bool {
		noise, _ := estimatedNoise(j.Prepared, nil, o.Z)
		return !o.Dropped && noise > floor
	}); other >= 0 {
		from = append(from, descent.Start{Z: c.result.Optima[other].Z})
	}
	if j.N() <= moreStartsUpTo {
		from = append(from, descent.Start{Z: j.Params.Start()})
		if suggested, _ := starts.Of(j.Prepared); len(suggested) > 1 { // the second has much noise and long lengthscales
			from = append(from, descent.Start{Z: suggested[1]})
		}
	}
	settings := j.Settings(c.w.Backends[0]).Descents(j.N())
	settings.Race = true
	end, err := descent.Minimize(ctx, descent.Search{
		Objectives: []descent.Func{c.s}, Parameters: j.Params.List(), Limits: c.w.Limits, Starts: from,
		Log: func(start int) *journal.Sequence { return c.log.Sequence(fmt.Sprint(floor, "-", strconv.Itoa(start))) },
	}, settings)
	if _, undefined := descent.Undefined(err); undefined {
		return nil, nil
	}
	return end, err
}

// accept makes an end the result, and j, which has its bounds, the job. Other optima stay if their noise
// is above the floor.
func (c *floorChoice) accept(j *tuning.Job, end *descent.Result) {
	r := c.result
	c.w.Job = j
	for _, s := range c.w.Full {
		s.Job = j
	}
	var above []hyperopt.Optimum
	for _, o := range r.Optima {
		if noise, _ := estimatedNoise(j.Prepared, nil, o.Z); noise >= c.report.Floor && o.F > end.F+nearNats {
			above = append(above, o)
		}
	}
	before := r.StartResult
	r.StartResult, r.Optima = end.StartResult, reached(above, end)
	r.Iterations += before.Iterations
	r.Evaluations.Add(before.Evaluations)
	if r.Starts != nil {
		r.Starts, r.BestStart = append(slices.Clone(r.Starts), end.StartResult), len(r.Starts)
	}
	r.Path = append(r.Path, hyperopt.Stage{Step: floorStep, Rows: j.N(), Starts: len(end.Starts), Z: end.X, F: end.F, Evaluations: end.Evaluations})
}

// reached returns some optima and where the starts of descents ended, best first, and last the starts
// that were dropped. Ends with about the same value are one.
func reached(all []hyperopt.Optimum, r *descent.Result) (out []hyperopt.Optimum) {
	for _, s := range r.Starts {
		end := s
		for end.Status == descent.StatusMerged {
			end = r.Starts[end.MergedInto]
		}
		if end.X != nil {
			all = append(all, hyperopt.Optimum{Z: end.X, F: end.F, Starts: 1, Evaluations: s.Evaluations, Dropped: end.Status == descent.StatusDropped})
		}
	}
	slices.SortStableFunc(all, func(a, b hyperopt.Optimum) int { return cmp.Compare(a.F, b.F) })
	var dropped []hyperopt.Optimum
	for _, o := range all {
		switch last := len(out) - 1; {
		case o.Dropped:
			dropped = append(dropped, o)
		case last >= 0 && o.F-out[last].F <= sameNats:
			out[last].Starts += o.Starts
			out[last].Evaluations.Add(o.Evaluations)
		default:
			out = append(out, o)
		}
	}
	return append(out, dropped...)
}

// floorText says what was decided about the noise.
func floorText(f *summary.NoiseFloorReport) string {
	text := fmt.Sprintf("noise_variance %.3g, where the likelihood is highest, leaves %.1f of 16 digits of the gradient and of the weights", f.NoiseVariance, max(f.FewDigits, 0))
	if f.FewDigits == 0 {
		text = fmt.Sprintf("noise_variance %.3g, where the likelihood is highest, is far below the errors of predictions of rows with other inputs (RMSE %.3g standard deviations of the target)", f.NoiseVariance, f.Before.RMSEStandardized)
	}
	if f.Copies > 0 {
		text += "; " + textform.Counted(f.Copies, "row repeats the inputs and the target of another", "rows repeat the inputs and the target of others") + ", which makes little noise likely"
	}
	switch {
	case f.After == nil:
		return text + "; with more noise the objective is not defined"
	case f.Before == nil:
		text += fmt.Sprintf("; with a noise_variance of at least %.3g the RMSE is %.4g standard deviations", f.Floor, f.After.RMSEStandardized)
	default:
		text += fmt.Sprintf("; with a noise_variance of at least %.3g the RMSE is %.4g against %.4g standard deviations and the NLPD %.4g against %.4g", f.Floor, f.After.RMSEStandardized, f.Before.RMSEStandardized, f.After.NLPD, f.Before.NLPD)
	}
	if f.Raised {
		return text + ", and gpfit took that model; option noise-floor none keeps the other"
	}
	return text + ", so gpfit kept the little noise; option noise-floor sets a floor"
}

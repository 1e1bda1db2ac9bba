package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/method/experts"
)

// resolved are checked options: open choices are filled in, and texts are read.
type resolved struct {
	Options
	// how says what to scale, and clusters is the number of clusters of option experts.
	how      gp.Standardize
	clusters int
	// earlier is the fit of the model From.
	earlier fitted
	// kernel is nil for NoKernel, until withMeanPrior gives it terms.
	kernel kernel.Expr
	mean   mean.Expr
}

// resolved resolves the options for a table whose columns have names.
func (o Options) resolved(columns []string) (*resolved, error) {
	r := &resolved{Options: o}
	if err := r.fromModel(); err != nil {
		return nil, err
	}
	if err := r.readWords(); err != nil {
		return nil, err
	}
	return r, r.readExpressions(columns)
}

// refusal says what is wrong with the value of an option, if it is wrong.
type refusal struct {
	wrong              bool
	option, value, msg string
}

// readExpressions reads the kernel and the mean.
func (o *resolved) readExpressions(columns []string) (err error) {
	if o.Kernel != NoKernel {
		text := o.Kernel
		if o.Auto() {
			text = DefaultKernel
		}
		if o.kernel, err = o.parser(columns).Parse(text); err != nil {
			return err
		}
		if o.ARD {
			o.kernel = kernel.WithARD(o.kernel)
		}
	}
	o.mean, err = mean.Parse(o.meanText(), columns)
	return err
}

// parser reads kernels for columns with names.
func (o Options) parser(columns []string) kernel.Parser {
	return kernel.Parser{Families: o.Kernels, Columns: columns}
}

// meanText returns the text form of the mean function if nothing is chosen.
func (o Options) meanText() string {
	if o.AutoMean() {
		return DefaultMean
	}
	return o.Mean
}

// readWords reads and checks the options that have no more than words and numbers, and fills in the objective.
func (o *resolved) readWords() (err error) {
	var malformed error
	if o.Experts != "" {
		o.clusters, malformed = experts.ParseMethod(o.Experts)
	}
	if o.how, err = gp.ParseStandardize(string(o.Standardize)); err != nil {
		return OptionErrorf("standardize", "", "%v", err)
	}
	o.Objective = cmp.Or(o.Objective, NLML)
	drawn := o.Posterior != NoPosterior
	if o.Posterior = cmp.Or(o.Posterior, AutoPosterior); !drawn {
		o.Posterior = ""
	}
	if o.TargetTransform == transform.None && !o.openModel() { // without a choice, nothing is the default
		o.TargetTransform = ""
	}
	if o.InputTransform == transform.None && !o.openModel() {
		o.InputTransform = ""
	}
	drawn = drawn && o.Posterior != AutoPosterior
	number, s, kind := strconv.Itoa, o.Settings, o.TargetTransform
	refusals := []refusal{
		{!slices.Contains(Criteria(), o.Objective), "objective", strconv.Quote(string(o.Objective)), "must be nlml, loo, loo-rmse, lopo, lopo-rmse, cv or cv-rmse"},
		{o.Folds < 0 || o.Folds == 1, "folds", number(o.Folds), "must be at least 2, or 0 for the default"},
		{o.StdErrors && o.Objective.Predictive(), "std-errors", "", "the Hessian of a score of predictions is not the parameters' precision; use option objective nlml"},
		{s.Coarse != "" && !slices.Contains(hyperopt.Coarses(), s.Coarse), "coarse", string(s.Coarse), "must be auto, on, off or check"},
		{s.Restarts < 0 || s.Restarts > hyperopt.MaxRestarts, "restarts", number(s.Restarts), fmt.Sprintf("must be from 0 to %d", hyperopt.MaxRestarts)},
		{NotFinite(s.ToleranceNats), "tolerance-nats", strconv.FormatFloat(s.ToleranceNats, 'g', -1, 64), "must be a finite number"},
		{o.Tolerance < 0 || NotFinite(o.Tolerance), "tolerance", strconv.FormatFloat(o.Tolerance, 'g', -1, 64), "must be a positive number"},
		{s.MaxEvaluations < 0, "max-evals", number(s.MaxEvaluations), "must not be negative"},
		{drawn && !slices.Contains(PosteriorMethods(), o.Posterior), "posterior", strconv.Quote(string(o.Posterior)), "must be auto, none, laplace or hmc"},
		{drawn && o.Objective.LeavesOut(), "posterior", string(o.Posterior), "a leave-one-out score is not a likelihood; use option objective nlml"},
		{kind != "" && !slices.Contains(append(transform.Names(), transform.Auto), kind), "target-transform", `"` + string(kind) + `"`, "must be none, log, boxcox, yeojohnson or auto"},
		{!slices.Contains([]transform.Name{"", transform.None, transform.Skewed}, o.InputTransform), "input-transform", `"` + string(o.InputTransform) + `"`, "must be none or skewed"},
		{o.Robust && o.Objective.Predictive(), "robust", "", "the likelihood decides which rows do not fit; use option objective nlml"},
		{!slices.Contains([]MeanFit{MeanAuto, MeanGLS, MeanFree}, o.MeanFit), "mean-fit", strconv.Quote(string(o.MeanFit)), "must be gls or free"},
		{o.Robust && o.Experts != "", "robust", "", "local experts each see only a part of the rows: leave out one of the two options"},
	}
	for _, v := range []struct {
		name  string
		value int
	}{{"posterior-chains", o.PosteriorChains}, {"posterior-draws", o.PosteriorDraws}, {"posterior-warmup", o.PosteriorWarmup}} {
		refusals = append(refusals, refusal{v.value < 0, v.name, number(v.value), "must not be negative"},
			refusal{v.value > 0 && !drawn, v.name, number(v.value), "needs option posterior laplace or hmc"})
	}
	if total := o.Chains() * o.Draws(); drawn && total > mostDraws {
		refusals = append(refusals, refusal{true, "posterior-draws", number(o.Draws()), fmt.Sprintf("makes %d draws of %d chains; the largest number is %d", total, o.Chains(), mostDraws)})
	}
	refusals = append(refusals, o.expertRefusals(malformed)...)
	if k := slices.IndexFunc(refusals, func(r refusal) bool { return r.wrong }); k >= 0 {
		err = OptionErrorf(refusals[k].option, refusals[k].value, "%s", refusals[k].msg)
	}
	if !o.Objective.LeavesFoldsOut() { // the identity of other fits does not include them
		o.Folds, o.FoldSeed = 0, 0
	}
	return err
}

// expertRefusals lists what may be wrong with the options of local experts. malformed is an error of the text of
// option experts.
func (o Options) expertRefusals(malformed error) []refusal {
	given := o.Experts != ""
	combine := o.Combine.Check()
	rows := strconv.Itoa(o.ExpertRows)
	const needs = "needs option experts"
	return []refusal{
		{!given && o.Combine != "", "combine", string(o.Combine), needs},
		{!given && o.ExpertRows != 0, "expert-rows", rows, needs},
		{malformed != nil, "experts", strconv.Quote(o.Experts), fmt.Sprint(malformed)},
		{o.Combine != "" && combine != nil, "combine", "", fmt.Sprint(combine)},
		{given && o.Tolerance != 0, "tolerance", strconv.FormatFloat(o.Tolerance, 'g', -1, 64), "local experts have no bound of their error: leave out one of the two options"},
		{o.ExpertRows < 0, "expert-rows", rows, "must not be negative"},
		{given && (o.Objective.LeavesFoldsOut() || o.Objective.leavesPlacesOut()), "objective", string(o.Objective), "local experts have no covariance between folds of rows; use option objective nlml or loo"},
	}
}

// checkLatitudes returns a [*DataError] if a latitude of the kernel is beyond a pole, in a row of the fit or held out.
func (o *resolved) checkLatitudes(s *Sample) error {
	if at, why := kernel.BeyondPole(o.kernel, s.Columns, s.Data.X, s.Data.D); at >= 0 {
		return &DataError{fmt.Sprintf("the column %q of row %d (from 1) %s", s.Data.FeatureNames[at%s.Data.D], s.Data.RowNumber(at/s.Data.D)+1, why)}
	}
	return nil
}

// keepDegrees lets the columns of latitudes and longitudes of the kernel keep their degrees.
func (o *resolved) keepDegrees(s *Sample, scaling gp.Scaling) {
	latitudes, longitudes := kernel.OnSphere(o.kernel, s.Columns)
	for c, column := range s.Columns {
		if slices.Contains(latitudes, column) || slices.Contains(longitudes, column) {
			if scaling.XMean[c], scaling.XScale[c] = 0, 1; scaling.XTransforms != nil {
				scaling.XTransforms[c] = nil
			}
		}
	}
}

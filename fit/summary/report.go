package summary

import (
	"gpfit/experts"
	"gpfit/feature"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/sampler"
)

// SchemaVersion is the version of [Report] as JSON.
const SchemaVersion = 1

// Report is the result of a fit or an evaluation.
type Report struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N and D count training rows and columns in use.
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	Mean   string `json:"mean"`
	Device string `json:"device"`
	// Method is the name of the method if it is not dense.
	Method string `json:"method,omitempty"`
	// Encoding says how the columns of the table were read; nil if all are numbers.
	Encoding *feature.Encoding `json:"encoding,omitempty"`
	// Experts describes the local experts; nil without.
	Experts *ExpertsReport `json:"experts,omitempty"`
	// MeanFit says how the mean's coefficients were found. Parameters contains them,
	// too.
	MeanFit          problem.MeanFit `json:"mean_fit,omitempty"`
	MeanCoefficients []Coefficient   `json:"mean_coefficients,omitempty"`
	// Targets holds the parts of several targets. NLML, its terms and
	// NLMLOriginalUnits are then sums over them.
	Targets []TargetReport `json:"targets,omitempty"`
	// NLML is the sum of its three terms, for the scaled problem. NLMLOriginalUnits
	// is the NLML of the original targets, n·log(scale of y) more.
	NLML              float64 `json:"nlml"`
	NLMLOriginalUnits float64 `json:"nlml_original_units"`
	DataFit           float64 `json:"data_fit"`
	Complexity        float64 `json:"complexity"`
	Constant          float64 `json:"constant"`
	// Objective is the quantity that was minimised or evaluated. ObjectiveName names
	// its terms. NegLogPrior is −log density of the priors in Priors, in natural
	// units of the scaled problem, without a Jacobian.
	Objective     float64           `json:"objective"`
	ObjectiveName string            `json:"objective_name"`
	NegLogPrior   *float64          `json:"neg_log_prior,omitempty"`
	Priors        map[string]string `json:"priors,omitempty"`
	// Jitter is the variance added to the diagonal, in scaled units; 0 unless
	// allowed.
	Jitter float64 `json:"jitter"`
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ over a few vectors e, with a recomputed Σ. It is nil
	// below 1,000 rows, and if the device cannot check its factor.
	Residual *float64 `json:"residual,omitempty"`
	// Parameters holds natural values of the scaled problem. GradientLog holds
	// ∂objective/∂log parameter (∂objective/∂coefficient for the mean's) of the free
	// parameters. Tied names the parameter whose value each of the others takes.
	// Constants names the offsets that are the constant 0.
	Parameters              map[string]float64 `json:"parameters"`
	Tied                    map[string]string  `json:"tied,omitempty"`
	Constants               []string           `json:"constants,omitempty"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	GradientLog             map[string]float64 `json:"gradient_log,omitempty"`
	// Columns has an entry for each name in Parameters and ParametersOriginalUnits that
	// belongs to a column. Names have the column's name; the entry has its index.
	Columns     map[string]ParameterColumn `json:"parameter_columns,omitempty"`
	Evaluations Counts                     `json:"evaluations"`
	Seconds     float64                    `json:"seconds"`
	// EvaluationSeconds is the part of Seconds spent in evaluations, summed over
	// devices; a fit sets it.
	EvaluationSeconds float64 `json:"evaluation_seconds,omitempty"`
	Status            string  `json:"status"`
	// The following fields are set after a fit.
	GradientNorm   *float64      `json:"gradient_norm,omitempty"`
	RelativeChange *float64      `json:"relative_change,omitempty"`
	Iterations     int           `json:"iterations,omitempty"`
	Seed           *uint64       `json:"seed,omitempty"`
	Starts         []StartReport `json:"starts,omitempty"`
	// Path is set if the fit went from coarse to fine. Its last step uses all rows.
	Path []StageReport `json:"path,omitempty"`
	// Optima lists the distinct optima that the starts reached, best first. It is set
	// with restarts.
	Optima []OptimumReport `json:"optima,omitempty"`
	// Search says how sure it is that the best of them is the best there is.
	Search    *SearchReport `json:"search,omitempty"`
	AtBound   []string      `json:"at_bound,omitempty"`
	StdErrors *StdErrors    `json:"std_errors,omitempty"`
	// Posterior summarises draws of the parameters; nil without.
	Posterior *PosteriorReport `json:"posterior,omitempty"`
	// Interpolation is set if the noise is so small that the fit passes through the targets.
	Interpolation *Interpolation `json:"interpolation,omitempty"`
	Scores        Scores         `json:"scores,omitzero"`
	Test          *TestScores    `json:"test,omitempty"`
	// HeldOut describes the rows that option holdout held out.
	HeldOut *gp.HeldOut `json:"held_out,omitempty"`
	// Coarse is set if subsets of the rows chose where the descents over all rows began.
	Coarse *CoarseReport `json:"coarse,omitempty"`
	// Relevance lists the columns in use after a fit, most relevant first.
	Relevance []ColumnRelevance `json:"relevance,omitempty"`
	Warnings  []string          `json:"warnings"`
	// ModelFile is the path of the model file, if written.
	ModelFile string `json:"model_file,omitempty"`

	// Names lists the parameters in order; NamesOriginal lists those in original
	// units.
	Names         []string `json:"-"`
	NamesOriginal []string `json:"-"`
}

// ParameterColumn says which column of the table a parameter belongs to.
type ParameterColumn struct {
	// Indexed is the parameter's name with the index of the column, such as
	// "lengthscale[3]".
	Indexed string `json:"indexed_name"`
	// Index counts the features from 0, as the table has them, and Column is the name
	// of that one.
	Index  int    `json:"index"`
	Column string `json:"column"`
}

// Counts counts evaluations. FullSizeValue and FullSizeGradient count those on all
// rows.
type Counts struct {
	Value            int `json:"value"`
	Gradient         int `json:"gradient"`
	FullSizeValue    int `json:"full_size_value"`
	FullSizeGradient int `json:"full_size_gradient"`
	// Infeasible counts trials whose covariance was not positive definite.
	Infeasible int `json:"infeasible"`
}

// StartReport describes one start of the optimiser. NLML is set if the objective is
// the NLML.
type StartReport struct {
	Objective  *float64 `json:"objective"`
	NLML       *float64 `json:"nlml,omitempty"`
	Status     string   `json:"status"`
	Iterations int      `json:"iterations"`
	Error      string   `json:"error,omitempty"`
	Best       bool     `json:"best"`
}

// StageReport describes one step of a fit from coarse to fine: a descent from every
// remaining start on Rows rows, or the Hessian at the best result.
type StageReport struct {
	// Step is "descent" or "hessian". On few rows it can also be "halves", some steps
	// of each start on a random half of the rows, or "values", over all rows, where
	// these ended.
	Step string `json:"step"`
	Rows int    `json:"rows"`
	// Starts counts the descents, Optima the distinct points where they ended.
	Starts int `json:"starts,omitempty"`
	Optima int `json:"optima,omitempty"`
	// Objective, over these rows, and Parameters belong to the best end. NLML is the
	// objective if that is the NLML. Of halves, Objective is the lowest value,
	// although they use different rows.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	Value      int                `json:"value"`
	Gradient   int                `json:"gradient"`
	Seconds    float64            `json:"seconds"`
}

// OptimumReport describes a local optimum that starts reached.
type OptimumReport struct {
	// Objective is its value. NLML is set if that is the objective.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	// Starts counts the starts that led here, Drawn those of them that were drawn at
	// random. Best marks the result.
	Starts int  `json:"starts"`
	Drawn  int  `json:"drawn"`
	Best   bool `json:"best"`
	// Value and Gradient count the evaluations of these starts, on any number of rows.
	Value    int `json:"value"`
	Gradient int `json:"gradient"`
	// LeaveOneOut and Test, or Tests for each of several targets, are scores of the
	// predictions with these parameters. They are nil for dropped descents, for optima
	// after the tenth, and if they are undefined.
	LeaveOneOut *LeaveOneOutScore `json:"loo,omitempty"`
	Test        *TestScores       `json:"test,omitempty"`
	Tests       []*TestScores     `json:"tests,omitempty"`
	// Dropped says that gpfit stopped here because the descent could no longer become
	// the best. The point is then no optimum, only on the way to one.
	Dropped bool `json:"dropped,omitempty"`
	// Rows is the number of rows that the objective of a dropped descent uses, if not
	// all.
	Rows int `json:"rows,omitempty"`
}

// SearchReport says how often starts found the best optimum, and what that says about others:
// the estimates of hyperopt.Coverage.
type SearchReport struct {
	// Starts counts the starts that reached an optimum, Best those that reached the best.
	// Stopped counts those that gpfit stopped early.
	Starts  int `json:"starts"`
	Best    int `json:"best"`
	Stopped int `json:"stopped"`
	// Drawn counts the starts drawn at random that reached an optimum, Distinct the optima
	// that they reached.
	Drawn    int `json:"drawn"`
	Distinct int `json:"distinct"`
	// Unseen is the estimated probability that another random start finds a new optimum,
	// Expected the expected number of optima. They are nil if the starts are too few.
	Unseen   *float64 `json:"unseen_share,omitempty"`
	Expected *float64 `json:"expected_optima,omitempty"`
	// LeastRestarts is then the least number of restarts that can give an estimate, if each
	// start runs to its end.
	LeastRestarts int `json:"least_restarts_for_estimate,omitempty"`
}

// Coefficient is a coefficient of the mean function, in scaled and in original units.
// In original units it belongs to the same function of the original columns; the
// constant of the mean absorbs the shifts.
type Coefficient struct {
	Name          string  `json:"name"`
	Value         float64 `json:"value"`
	OriginalUnits float64 `json:"original_units"`
	// The standard errors are the square roots of the diagonal of (HᵀΣ⁻¹H)⁻¹, with
	// the other parameters held fixed. They are nil for coefficients that are
	// parameters.
	StandardError              *float64 `json:"standard_error,omitempty"`
	StandardErrorOriginalUnits *float64 `json:"standard_error_original_units,omitempty"`
	// Centre and Width describe a bump, in original units.
	Centre *float64 `json:"centre_original_units,omitempty"`
	Width  *float64 `json:"width_original_units,omitempty"`
}

// TargetReport is the part of a report that concerns one of several targets.
type TargetReport struct {
	Name string `json:"name"`
	// NLML is the target's share of the sum, and DataFit its share of the data fit.
	// Complexity and Constant are the same for every target.
	NLML                    float64            `json:"nlml"`
	NLMLOriginalUnits       float64            `json:"nlml_original_units"`
	DataFit                 float64            `json:"data_fit"`
	Complexity              float64            `json:"complexity"`
	Constant                float64            `json:"constant"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	MeanCoefficients        []Coefficient      `json:"mean_coefficients,omitempty"`
	Test                    *TestScores        `json:"test,omitempty"`
	// Names lists, in order, those of ParametersOriginalUnits that differ between
	// targets.
	Names []string `json:"-"`
}

// StdErrors holds asymptotic standard errors of the free parameters. The inverse of
// the Hessian of the objective at its optimum is the covariance of the log-parameters
// z (of the coefficients of the mean without the log). With priors this is the
// Laplace approximation of the posterior.
//
// The standard errors show how well the data determine a parameter if the objective
// is a parabola in z over about two standard errors. It is not in small samples, or
// for a parameter that the data hardly determine.
type StdErrors struct {
	// Names lists the parameters of the Hessian in the order of its rows. LeftOut
	// lists those that are fixed or at a bound.
	Names   []string `json:"names"`
	LeftOut []string `json:"left_out,omitempty"`
	// Hessian is ∂²objective/∂z∂z, symmetric. Asymmetry is the largest difference
	// between its elements and their mirror images before they were averaged, which
	// shows the accuracy of the differences.
	Hessian   [][]float64 `json:"hessian"`
	Asymmetry float64     `json:"asymmetry"`
	// Eigenvalue is the Hessian's smallest eigenvalue. Failure says why there are no
	// standard errors; it is empty if there are.
	Eigenvalue float64 `json:"smallest_eigenvalue"`
	Failure    string  `json:"failure,omitempty"`
	// Log holds the standard errors of z. Scaled holds them in natural units, by the
	// delta method: θ·se(log θ). Original holds them in original units. The last two
	// include tied parameters.
	Log      map[string]float64 `json:"log,omitempty"`
	Scaled   map[string]float64 `json:"parameters,omitempty"`
	Original map[string]float64 `json:"parameters_original_units,omitempty"`
	// Interval95 holds z ± 1.96 se(z) in natural units of the scaled problem.
	Interval95 map[string][2]float64 `json:"interval95,omitempty"`
}

// Scores holds predictive scores of a model; a score that was not requested is nil.
type Scores struct {
	LeaveOneOut     *LeaveOneOutScore      `json:"loo,omitempty"`
	CrossValidation *CrossValidationScores `json:"cv,omitempty"`
	Objective       *ObjectiveFolds        `json:"objective_folds,omitempty"`
}

// ObjectiveFolds holds the scores of the predictions on which the objectives CV and CVRMSE
// depend: each row is predicted from the other folds at the parameters of the fit, which
// all rows have chosen.
type ObjectiveFolds struct {
	// Folds is the number of folds; the others are as in CrossValidationScores.
	Folds  int    `json:"folds"`
	Seed   uint64 `json:"seed"`
	Blocks bool   `json:"blocks,omitempty"`
	Group  string `json:"group,omitempty"`
	LeaveOneOutScore
}

// TestScores holds the scores of held-out rows, in original units and in units of the
// training targets' standard deviation.
type TestScores struct {
	N int `json:"n"`
	// RMSE is the root mean squared error of the mean.
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// Coverage95 is the share of rows within their 95 % interval. Calibration is set,
	// and Verdict says it in words, if that share is not compatible with 95 %.
	Coverage95  float64     `json:"coverage95"`
	Calibration Calibration `json:"calibration,omitempty"`
	Verdict     string      `json:"verdict,omitempty"`
	// NLPD is the mean negative log predictive density of an observation.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
}

// LeaveOneOutScore is the leave-one-out log predictive density at the parameters of
// all rows. The coefficients of a mean by least squares are computed again without
// each row.
type LeaveOneOutScore struct {
	// Sum is −Σ log p(y_i | the other rows) of the scaled problem, comparable with
	// the NLML. SumOriginalUnits is the sum for the original targets. Both are sums
	// over several targets.
	Sum              float64 `json:"sum"`
	SumOriginalUnits float64 `json:"sum_original_units"`
	// NLPD is the mean over rows in original units; NLPDStandardized is in units of
	// the training targets' standard deviation, as in test scores.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
	// RMSE is the root mean squared error of the predictions; it is absent with several
	// targets, because the units differ. RMSEStandardized is in the units of
	// NLPDStandardized, pooled over the targets.
	RMSE             float64 `json:"rmse,omitempty"`
	RMSEStandardized float64 `json:"rmse_standardized"`
}

// CrossValidationScores holds scores of rows that were predicted from the other
// folds, in original units and in units of the standard deviation of all training
// targets.
type CrossValidationScores struct {
	Folds []FoldScores `json:"folds"`
	// Seed drew the folds. Blocks means that they are blocks of consecutive rows; Group
	// is the column whose groups of rows they keep together.
	Seed   uint64 `json:"seed"`
	Blocks bool   `json:"blocks,omitempty"`
	Group  string `json:"group,omitempty"`
	Refit  bool   `json:"refit"`
	// RMSE is the root mean squared error over all rows, Coverage95 the share of rows
	// in their 95 % interval, and NLPD the mean negative log predictive density. With
	// several targets these are means over targets, and Targets has the scores of
	// each. RMSE is then absent, because the units differ. Calibration and Verdict are
	// as in TestScores, for one target.
	RMSE             float64        `json:"rmse,omitempty"`
	RMSEStandardized float64        `json:"rmse_standardized"`
	Coverage95       float64        `json:"coverage95"`
	Calibration      Calibration    `json:"calibration,omitempty"`
	Verdict          string         `json:"verdict,omitempty"`
	Targets          []TargetScores `json:"targets,omitempty"`
	// NLPDStdError is the standard error of NLPD, from its spread over folds.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
	NLPDStdError     Number `json:"nlpd_std_error"`
	// Warnings describes folds that departed from the options, such as an added
	// jitter or a replaced device. Callers of CrossValidate pass the warnings on.
	Warnings []string `json:"-"`
}

// TargetScores holds the scores of one of several targets; see CrossValidationScores.
type TargetScores struct {
	Name             string  `json:"name"`
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	Coverage95       float64 `json:"coverage95"`
	NLPD             Number  `json:"nlpd"`
	NLPDStandardized Number  `json:"nlpd_standardized"`
	NLPDStdError     Number  `json:"nlpd_std_error"`
}

// FoldScores holds the scores of one fold, in original units. With several targets
// they are means over the targets, without RMSE.
type FoldScores struct {
	// N is the number of held-out rows.
	N    int     `json:"n"`
	RMSE float64 `json:"rmse,omitempty"`
	// Coverage95 is as in CrossValidationScores.
	Coverage95 float64 `json:"coverage95"`
	// Parameters holds the refitted parameters, natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	NLPD       Number             `json:"nlpd"`
	Tests      []*TestScores      `json:"-"` // of each target
	Warnings   []string           `json:"-"`
}

// Interpolation describes a fit whose noise variance is so small that its predictions pass
// through the training targets. Its NLML is the likelihood of an interpolator. That is
// right for exact targets. For others it measures how the kernel explains the noise, and
// it can be better than the likelihood of a model that predicts better.
type Interpolation struct {
	// NoiseVariance is the largest estimated noise variance of the scaled problem.
	NoiseVariance float64 `json:"noise_variance"`
	// AtBound means that it is at its lower bound.
	AtBound bool `json:"at_bound"`
	// Condition is an estimate of the covariance's condition number, nil if the device has
	// no factor or the table is large.
	Condition *float64 `json:"condition_number,omitempty"`
	// LeaveOneOut holds the leave-one-out scores, nil if they are undefined.
	LeaveOneOut *LeaveOneOutScore `json:"loo,omitempty"`
	// Degenerate means that leave-one-out contradicts the noise: the predictions miss by
	// far more than the noise allows, although targets without noise would be predictable.
	Degenerate bool `json:"degenerate"`
	// NoiseFloor is a value to try for option noise-floor, a hundredth of the mean squared
	// leave-one-out error of the scaled problem, in one digit; 0 if Degenerate is false.
	NoiseFloor float64 `json:"noise_floor,omitempty"`
	// Better is the index of another optimum that does not interpolate and has a better
	// leave-one-out score; nil if the starts found none.
	Better *int `json:"better_optimum,omitempty"`
}

// PosteriorReport describes draws of the parameters from their posterior.
type PosteriorReport struct {
	Method problem.PosteriorMethod `json:"method"`
	// Chains, Warmup and Draws are the number of chains and of iterations of each. For
	// Laplace there is one chain of independent draws.
	Chains int `json:"chains"`
	Warmup int `json:"warmup"`
	Draws  int `json:"draws"`
	// Divergences counts draws whose trajectory diverged. Gradients counts evaluations.
	Divergences int       `json:"divergences"`
	StepSizes   []float64 `json:"step_sizes,omitempty"`
	Gradients   int       `json:"gradients"`
	Seed        uint64    `json:"seed"`
	// DefaultPriors are the priors of parameters for which the options have none, in
	// scaled units; they count for the draws alone.
	DefaultPriors map[string]string `json:"default_priors,omitempty"`
	// Parameters and OriginalUnits summarise the draws of each parameter, in scaled and in
	// original units.
	Parameters    map[string]PosteriorSummary `json:"parameters"`
	OriginalUnits map[string]PosteriorSummary `json:"parameters_original_units,omitempty"`
	Warnings      []string                    `json:"warnings"`
	// draws are natural values of the scaled problem by chain, draw and name; names is
	// their order.
	Values [][]map[string]float64 `json:"-"`
	Names  []string               `json:"-"`
	Stats  []sampler.Chain        `json:"-"`
}

// PosteriorSummary summarises the draws of a parameter.
type PosteriorSummary struct {
	sampler.DrawSummary
	// The diagnostics are those of [sampler.DrawSummary]; nil for independent draws, and where
	// they are not defined.
	RHat    *float64 `json:"r_hat,omitempty"`
	ESSBulk *float64 `json:"ess_bulk,omitempty"`
	ESSTail *float64 `json:"ess_tail,omitempty"`
}

// ExpertsReport describes the local experts of a fit.
type ExpertsReport struct {
	// Method is the text of option experts, Combine the rule for predictions.
	Method  string       `json:"method"`
	Combine experts.Rule `json:"combine"`
	// Experts is their number, after clusters were divided or merged.
	Experts int `json:"experts"`
	Split   int `json:"split"`
	Merged  int `json:"merged"`
	// Smallest, Median and Largest are numbers of training rows, Sizes all of them.
	Smallest int   `json:"smallest"`
	Median   int   `json:"median"`
	Largest  int   `json:"largest"`
	Sizes    []int `json:"sizes"`
	// Parameters says whether the experts share their parameters; empty means that they do.
	// Otherwise Each describes them, and the parameters in [Report] are medians over the
	// experts, weighted by their rows.
	Parameters experts.Parameters `json:"parameters,omitempty"`
	Each       []ExpertReport     `json:"each,omitempty"`
	// Inertia is the sum of the squared distances of the scaled rows from their centres.
	Inertia float64 `json:"inertia"`
	// Temperature belongs to the rule rbcm, and Rules are the scores of the rules for
	// training rows that they leave out, after a fit.
	Temperature float64             `json:"temperature,omitempty"`
	Rules       []experts.RuleScore `json:"rules,omitempty"`
}

// ExpertReport describes a local expert with parameters of its own.
type ExpertReport struct {
	Rows   int     `json:"rows"`
	Status string  `json:"status"`
	NLML   float64 `json:"nlml"`
	// Objective is the quantity that was minimised on the rows of the expert.
	Objective float64 `json:"objective"`
	// Parameters holds natural values of the scaled problem.
	Parameters              map[string]float64 `json:"parameters"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	AtBound                 []string           `json:"at_bound,omitempty"`
	StdErrors               *StdErrors         `json:"std_errors,omitempty"`
	GradientNorm            *float64           `json:"gradient_norm,omitempty"`
	Evaluations             Counts             `json:"evaluations"`
	Seconds                 float64            `json:"seconds"`
}

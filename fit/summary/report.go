package summary

import (
	"slices"
	"strings"

	"gpfit/fit/internal/sampler"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/transform"
	"gpfit/method/experts"
	"gpfit/table/feature"
)

// SchemaVersion is the version of [Report] as JSON.
const SchemaVersion = 1

// Report is the result of a fit or an evaluation.
type Report struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N and D count training rows and columns in use.
	N int `json:"n"`
	D int `json:"d"`
	// Target names the target, if there is one, and Features the columns in use.
	Target   string   `json:"target,omitempty"`
	Features []string `json:"features,omitempty"`
	Kernel   string   `json:"kernel"`
	Mean     string   `json:"mean"`
	// Choice says how the fit chose kernel and mean; nil if the options gave the kernel.
	Choice *ModelChoice `json:"choice,omitempty"`
	Device string       `json:"device"`
	// Method is the name of the method if it is not dense.
	Method string `json:"method,omitempty"`
	// Approximation says how far the method may be off; nil for exact methods and for local experts.
	Approximation *gp.Approximation `json:"approximation,omitempty"`
	// Distinct is the number of rows with different inputs if the method is merged.
	Distinct int `json:"distinct_rows,omitempty"`
	// Encoding says how the columns of the table were read; nil if all are numbers.
	Encoding *feature.Encoding `json:"encoding,omitempty"`
	// Reading says what was read of the table; nil without one.
	Reading *feature.Reading `json:"reading,omitempty"`
	// Experts describes the local experts; nil without.
	Experts *ExpertsReport `json:"experts,omitempty"`
	// Robust lists the rows that do not fit the model; nil without option robust.
	Robust *RobustReport `json:"robust,omitempty"`
	// MeanFit says how the mean's coefficients, which Parameters has too, were found.
	MeanFit          problem.MeanFit `json:"mean_fit,omitempty"`
	MeanCoefficients []Coefficient   `json:"mean_coefficients,omitempty"`
	// Targets holds the parts of several targets, whose NLML and terms are then summed.
	Targets []TargetReport `json:"targets,omitempty"`
	// NLML is the sum of its terms, for the scaled problem. NLMLOriginalUnits is n·log(scale of y) more,
	// with a transform n·log([gp.Scaling.Unit]), so that transforms can be compared by it.
	NLML              float64 `json:"nlml"`
	NLMLOriginalUnits float64 `json:"nlml_original_units"`
	DataFit           float64 `json:"data_fit"`
	Complexity        float64 `json:"complexity"`
	Constant          float64 `json:"constant"`
	// TargetTransform is the transform of the target; nil without. Jacobian is its term of the NLML.
	TargetTransform *TransformReport `json:"target_transform,omitempty"`
	Jacobian        float64          `json:"jacobian,omitempty"`
	// InputTransforms are the transforms of columns, by their names; nil without.
	InputTransforms map[string]*transform.Map `json:"input_transforms,omitempty"`
	// Objective was minimized or evaluated; ObjectiveName names its terms. NegLogPrior is −log
	// density of Priors in natural units of the scaled problem, without a Jacobian.
	Objective     float64           `json:"objective"`
	ObjectiveName string            `json:"objective_name"`
	NegLogPrior   *float64          `json:"neg_log_prior,omitempty"`
	Priors        map[string]string `json:"priors,omitempty"`
	// Jitter is the variance added to the diagonal, in scaled units; 0 unless allowed.
	Jitter float64 `json:"jitter"`
	// Predictions says over what predictions and held-out scores average if option posterior auto found
	// few rows, or why they do not; folds and leave-one-out use the parameters found. "" otherwise.
	Predictions string `json:"predictions,omitempty"`
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ over a few vectors e, with a recomputed Σ; nil below 1,000
	// rows, and if the device cannot check its factor.
	Residual *float64 `json:"residual,omitempty"`
	// Digits are the decimal digits, of about 16, that the condition of the covariance leaves; nil if they are not known.
	Digits *float64 `json:"digits,omitempty"`
	// Parameters holds natural values of the scaled problem, GradientLog ∂objective/∂log
	// parameter of the free ones (of the mean's without the log). Tied names the parameter
	// whose value another one takes, Constants the offsets that are the constant 0.
	Parameters              map[string]float64 `json:"parameters"`
	Tied                    map[string]string  `json:"tied,omitempty"`
	Constants               []string           `json:"constants,omitempty"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	GradientLog             map[string]float64 `json:"gradient_log,omitempty"`
	// Columns has an entry for each parameter of a column, which has the column's index.
	Columns     map[string]ParameterColumn `json:"parameter_columns,omitempty"`
	Evaluations Counts                     `json:"evaluations"`
	Seconds     float64                    `json:"seconds"`
	// EvaluationSeconds of a fit are spent in evaluations, summed over devices.
	EvaluationSeconds float64 `json:"evaluation_seconds,omitempty"`
	// PlannedBytes is the memory that the program planned for before the fit, on the host and on
	// accelerators, and PeakBytes the largest resident memory of its process until the report, 0 if the
	// system does not tell.
	PlannedBytes int64  `json:"planned_bytes,omitempty"`
	PeakBytes    int64  `json:"peak_bytes,omitempty"`
	Status       string `json:"status"`
	// Disproved says that the kernel is no covariance function at the parameters found.
	Disproved bool `json:"disproved,omitempty"`
	// Interrupted says that the command was interrupted before its end.
	Interrupted bool `json:"interrupted,omitempty"`
	// OfRows is the number of training rows if a signal left the model fewer, N.
	OfRows int `json:"of_rows,omitempty"`
	// The following fields are set after a fit.
	GradientNorm   *float64      `json:"gradient_norm,omitempty"`
	RelativeChange *float64      `json:"relative_change,omitempty"`
	Iterations     int           `json:"iterations,omitempty"`
	Seed           *uint64       `json:"seed,omitempty"`
	Starts         []StartReport `json:"starts,omitempty"`
	// Path is set if the fit went from coarse to fine. Its last step uses all rows.
	Path []StageReport `json:"path,omitempty"`
	// Optima lists the distinct optima that the starts reached, best first, with restarts.
	Optima []OptimumReport `json:"optima,omitempty"`
	// Search says how sure it is that no optimum is lower.
	Search  *SearchReport `json:"search,omitempty"`
	AtBound []string      `json:"at_bound,omitempty"`
	// LowerElsewhere names parameters at bounds with another value of which the objective is lower.
	LowerElsewhere []string   `json:"lower_elsewhere,omitempty"`
	StdErrors      *StdErrors `json:"std_errors,omitempty"`
	// Posterior summarizes draws of the parameters; nil without.
	Posterior *PosteriorReport `json:"posterior,omitempty"`
	// Interpolation is set if the noise is so small that the fit passes through the targets.
	Interpolation *Interpolation `json:"interpolation,omitempty"`
	// NoiseFloor is set if the fit decided about a floor of the noise; NoiseFloorOption is the option that gives one.
	NoiseFloor       *NoiseFloorReport  `json:"noise_floor,omitempty"`
	NoiseFloorOption problem.NoiseFloor `json:"noise_floor_option,omitzero"`
	Scores           Scores             `json:"scores,omitzero"`
	Test             *TestScores        `json:"test,omitempty"`
	// HeldOut describes the rows that option holdout held out.
	HeldOut *gp.HeldOut `json:"held_out,omitempty"`
	// Coarse is set if option coarse check compared two descents.
	Coarse *CoarseReport `json:"coarse,omitempty"`
	// Verdict says in words how good the model of a fit is.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Isotropic says that the kernel has a lengthscale that all of several columns share.
	Isotropic bool `json:"isotropic,omitempty"`
	// Barred are the options that advice does not name: the user chose otherwise, or other options exclude them.
	Barred []string `json:"barred,omitempty"`
	// Skewed says that the target, without a transform, is positive and has a long tail above.
	Skewed bool `json:"skewed,omitempty"`
	// Levels is the largest number of values of a column if the rows, with the held-out ones, are a grid of few such
	// levels, 0 otherwise.
	Levels int `json:"levels,omitempty"`
	// Missed is a season of a series that the model lacks.
	Missed *MissedSeason `json:"missed_season,omitempty"`
	// Series says that a column in use, the only one or one with regular steps, never falls from row to row.
	Series bool `json:"series,omitempty"`
	// Relevance lists the columns in use after a fit, most relevant first.
	Relevance []ColumnRelevance `json:"relevance,omitempty"`
	Warnings  []string          `json:"warnings"`
	// ModelFile is the path of the model file, if written.
	ModelFile string `json:"model_file,omitempty"`

	// Names lists the parameters in order, NamesOriginal the parameters in original units.
	Names         []string `json:"-"`
	NamesOriginal []string `json:"-"`
}

// criterion returns the name of the objective without priors.
func criterion(r *Report) string { return strings.TrimSuffix(r.ObjectiveName, problem.WithPrior) }

// minimizes reports whether the objective was one of some criteria, with priors or without.
func minimizes(r *Report, criteria ...problem.Criterion) bool {
	return slices.Contains(criteria, problem.Criterion(criterion(r)))
}

// ParameterColumn says which column of the table a parameter belongs to.
type ParameterColumn struct {
	// Indexed is the name with the index of the column, such as "lengthscale[3]".
	Indexed string `json:"indexed_name"`
	// Index counts the features of the table from 0; Column is the name.
	Index  int    `json:"index"`
	Column string `json:"column"`
}

// Counts counts evaluations; FullSizeValue and FullSizeGradient are on all rows.
type Counts struct {
	Value            int `json:"value"`
	Gradient         int `json:"gradient"`
	FullSizeValue    int `json:"full_size_value"`
	FullSizeGradient int `json:"full_size_gradient"`
	// Hessian counts Hessians, on any number of rows; each costs about as much as 2v·p/n values with
	// gradient over its n rows, for p parameters and v vectors: n up to 32 rows, otherwise 32 to 256.
	Hessian int `json:"hessian"`
	// Infeasible counts trials whose covariance was not positive definite.
	Infeasible int `json:"infeasible"`
}

// Add adds the counts of o to c.
func (c *Counts) Add(o Counts) {
	c.Value, c.Gradient, c.Hessian, c.Infeasible = c.Value+o.Value, c.Gradient+o.Gradient, c.Hessian+o.Hessian, c.Infeasible+o.Infeasible
	c.FullSizeValue, c.FullSizeGradient = c.FullSizeValue+o.FullSizeValue, c.FullSizeGradient+o.FullSizeGradient
}

// StartReport describes one start of the optimizer. NLML is set if it is the objective.
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
	// Step is "descent" or "hessian"; on few rows also "halves", some steps of each start on
	// a random half of the rows (or on all of very few), or "values", over all rows, where these ended;
	// "robust" descends again after a search for rows that do not fit.
	Step string `json:"step"`
	Rows int    `json:"rows"`
	// Starts counts the descents, Optima the distinct points where they ended.
	Starts int `json:"starts,omitempty"`
	Optima int `json:"optima,omitempty"`
	// Objective, over these rows, and Parameters belong to the best end. NLML is set if it is
	// the objective. Of halves, Objective is the lowest value, although on different rows.
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
	// Starts counts the starts that led here, Drawn the random ones. Best marks the result.
	Starts int  `json:"starts"`
	Drawn  int  `json:"drawn"`
	Best   bool `json:"best"`
	// Value and Gradient count the evaluations of these starts, on any number of rows.
	Value    int `json:"value"`
	Gradient int `json:"gradient"`
	// LeaveOneOut and Test, or Tests for several targets, are scores with these parameters;
	// nil for dropped descents, after the tenth optimum, and if they are undefined.
	LeaveOneOut *LeaveOneOutScore `json:"loo,omitempty"`
	Test        *TestScores       `json:"test,omitempty"`
	Tests       []*TestScores     `json:"tests,omitempty"`
	// Dropped says that gpfit stopped here, on the way to an optimum, because the descent
	// could no longer become the best.
	Dropped bool `json:"dropped,omitempty"`
	// Rows is the number of rows of a dropped descent's objective, if not all.
	Rows int `json:"rows,omitempty"`
}

// Coefficient is a coefficient of the mean function, in scaled and in original units, where it
// belongs to the same function of the original columns; the constant absorbs the shifts.
type Coefficient struct {
	Name          string  `json:"name"`
	Value         float64 `json:"value"`
	OriginalUnits float64 `json:"original_units"`
	// The standard errors are the square roots of the diagonal of (HᵀΣ⁻¹H)⁻¹, with the other
	// parameters fixed; nil for coefficients that are parameters.
	StandardError              *float64 `json:"standard_error,omitempty"`
	StandardErrorOriginalUnits *float64 `json:"standard_error_original_units,omitempty"`
	// Centre and Width describe a bump, in original units.
	Centre *float64 `json:"centre_original_units,omitempty"`
	Width  *float64 `json:"width_original_units,omitempty"`
	// Period is a wave's, in original units.
	Period *float64 `json:"period_original_units,omitempty"`
}

// TargetReport is the part of a report that concerns one of several targets.
type TargetReport struct {
	Name string `json:"name"`
	// NLML and DataFit are shares of the sums; Complexity and Constant are alike for all.
	NLML                    float64            `json:"nlml"`
	NLMLOriginalUnits       float64            `json:"nlml_original_units"`
	DataFit                 float64            `json:"data_fit"`
	Complexity              float64            `json:"complexity"`
	Constant                float64            `json:"constant"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	MeanCoefficients        []Coefficient      `json:"mean_coefficients,omitempty"`
	Test                    *TestScores        `json:"test,omitempty"`
	// Names lists, in order, the parameters that differ between targets in original units.
	Names []string `json:"-"`
}

// StdErrors holds asymptotic standard errors of the free parameters. The inverse of the Hessian
// of the objective at its optimum is the covariance of the log-parameters z (of the mean's
// without the log), with priors the Laplace approximation of the posterior. It holds if the
// objective is a parabola over about two standard errors, and so not in small samples, or for a
// parameter that the data hardly determine.
type StdErrors struct {
	// Names lists the parameters of the Hessian, LeftOut the parameters fixed or at a bound.
	Names   []string `json:"names"`
	LeftOut []string `json:"left_out,omitempty"`
	// Hessian is ∂²objective/∂z∂z. Asymmetry is the largest difference of mirror images before
	// they were averaged, which shows the accuracy of the differences.
	Hessian   [][]float64 `json:"hessian"`
	Asymmetry float64     `json:"asymmetry"`
	// Eigenvalue is the Hessian's smallest. Failure says why there are no standard errors.
	Eigenvalue float64 `json:"smallest_eigenvalue"`
	Failure    string  `json:"failure,omitempty"`
	// Log holds the standard errors of z; by the delta method Scaled holds standard errors in
	// natural units, θ·se(log θ), and Original in original units, also of tied parameters.
	Log      map[string]float64 `json:"log,omitempty"`
	Scaled   map[string]float64 `json:"parameters,omitempty"`
	Original map[string]float64 `json:"parameters_original_units,omitempty"`
	// Interval95 holds z ± 1.96 se(z) in natural units of the scaled problem.
	Interval95 map[string][2]float64 `json:"interval95,omitempty"`
}

// Interpolation describes a fit whose noise variance is so small that its predictions pass
// through the training targets. Its NLML is right for exact targets. For others it measures how
// the kernel explains the noise, and can be better than the NLML of a model that predicts better.
type Interpolation struct {
	// NoiseVariance is the largest estimated noise variance of the scaled problem.
	NoiseVariance float64 `json:"noise_variance"`
	// AtBound means that it is at its lower bound.
	AtBound bool `json:"at_bound"`
	// Condition estimates the covariance's condition number; nil without a factor, and for a
	// large table.
	Condition *float64 `json:"condition_number,omitempty"`
	// LeaveOneOut holds the leave-one-out scores, nil if they are undefined.
	LeaveOneOut *LeaveOneOutScore `json:"loo,omitempty"`
	// Degenerate means that the leave-one-out predictions miss by far more than the noise
	// allows, although targets without noise would be predictable.
	Degenerate bool `json:"degenerate"`
	// NoiseFloor is a value to try for option noise-floor, a hundredth of the mean squared
	// leave-one-out error of the scaled problem, in one digit; 0 if Degenerate is false.
	NoiseFloor float64 `json:"noise_floor,omitempty"`
}

// NoiseFloorReport says what became of a noise variance that was far below the errors of predictions:
// whether the fit continued with a floor.
type NoiseFloorReport struct {
	// NoiseVariance is the estimate without a floor, in scaled units, and Objective the objective there.
	NoiseVariance float64 `json:"noise_variance"`
	Objective     float64 `json:"objective"`
	// Floor is the floor that was tried last, in scaled units. Raised means that it was accepted.
	Floor  float64 `json:"floor,omitempty"`
	Raised bool    `json:"raised"`
	// Copies counts rows that repeat the inputs and the targets of another one.
	Copies int `json:"copies,omitempty"`
	// FewDigits are the digits that were left if the fit looked for a floor because of them; they can be below 0.
	FewDigits float64 `json:"few_digits,omitempty"`
	// Before and After are the scores without and with the floor. After is nil if none was tried.
	Before *LeaveOneOutScore `json:"loo_before"`
	After  *LeaveOneOutScore `json:"loo_after,omitempty"`
}

// PosteriorReport describes draws of the parameters from their posterior.
type PosteriorReport struct {
	Method problem.PosteriorMethod `json:"method"`
	// Warmup and Draws count iterations of each chain; Laplace has one of independent draws.
	Chains int `json:"chains"`
	Warmup int `json:"warmup"`
	Draws  int `json:"draws"`
	// Divergences counts draws whose trajectory diverged. Gradients counts evaluations.
	Divergences int       `json:"divergences"`
	StepSizes   []float64 `json:"step_sizes,omitempty"`
	Gradients   int       `json:"gradients"`
	Seed        uint64    `json:"seed"`
	// DefaultPriors, in scaled units, count for the draws of parameters without a prior.
	DefaultPriors map[string]string `json:"default_priors,omitempty"`
	// Parameters and OriginalUnits summarize the draws, in scaled and in original units.
	Parameters    map[string]sampler.DrawSummary `json:"parameters"`
	OriginalUnits map[string]sampler.DrawSummary `json:"parameters_original_units,omitempty"`
	// Modes lists the modes of the posterior that were found, in the order of their evidence.
	Modes []PosteriorMode `json:"modes,omitempty"`
	// ParetoK is k̂ of the importance ratios of the posterior's density and the density of the
	// draws of Laplace (package psis); nil for HMC, and for too few draws.
	ParetoK  *float64 `json:"pareto_k,omitempty"`
	Warnings []string `json:"warnings"`
	// Values are natural values of the scaled problem by chain, draw and name; Names is their order.
	Values [][]map[string]float64 `json:"-"`
	Names  []string               `json:"-"`
	Stats  []sampler.Chain        `json:"-"`
}

// PosteriorMode is a mode of the posterior over the logarithms of the parameters, or over a logistic
// function between bounds.
type PosteriorMode struct {
	// Parameters are natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters"`
	// LogEvidence is the logarithm of its evidence, by the Laplace approximation, relative to the
	// first mode's; Share is its share of the evidence of all modes.
	LogEvidence float64 `json:"log_evidence"`
	Share       float64 `json:"share"`
	// Chains counts the chains of HMC that began there. Fit marks the mode at the result of the fit.
	Chains int  `json:"chains"`
	Fit    bool `json:"fit"`
}

// ExpertsReport describes the local experts of a fit.
type ExpertsReport struct {
	// Method is the text of option experts, Combine the rule for predictions.
	Method  string       `json:"method"`
	Combine experts.Rule `json:"combine"`
	// CombineChosen means that the scores in Rules chose it.
	CombineChosen bool `json:"combine_chosen"`
	// Experts is their number, after clusters were divided or merged.
	Experts int `json:"experts"`
	Split   int `json:"split"`
	Merged  int `json:"merged"`
	// Smallest, Median and Largest are numbers of training rows, Sizes all of them.
	Smallest int   `json:"smallest"`
	Median   int   `json:"median"`
	Largest  int   `json:"largest"`
	Sizes    []int `json:"sizes"`
	// Inertia is the sum of the squared distances of the scaled rows from their centres.
	Inertia float64 `json:"inertia"`
	// Temperature belongs to the rule rbcm; Rules are scores of left-out training rows.
	Temperature float64             `json:"temperature,omitempty"`
	Rules       []experts.RuleScore `json:"rules,omitempty"`
	// Lost is how much higher the NLML is than the NLML of one process of all rows with the same parameters, by a method that is not
	// exact but bounds its error; nil if none computes it in less than a minute.
	Lost *LostNats `json:"lost,omitempty"`
}

// LostNats is a difference of two NLML.
type LostNats struct {
	Nats          float64           `json:"nats"`
	Approximation *gp.Approximation `json:"approximation"`
}

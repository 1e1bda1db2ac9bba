package fit

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
	// MeanFit says how the mean's coefficients were found; they are among
	// Parameters, too.
	MeanFit          MeanFit       `json:"mean_fit,omitempty"`
	MeanCoefficients []Coefficient `json:"mean_coefficients,omitempty"`
	// Targets are the parts of several targets: NLML, its terms and
	// NLMLOriginalUnits are sums over them.
	Targets []TargetReport `json:"targets,omitempty"`
	// NLML is that of the scaled problem, the sum of its three terms;
	// NLMLOriginalUnits that of the original targets, n·log(scale of y) more.
	NLML              float64 `json:"nlml"`
	NLMLOriginalUnits float64 `json:"nlml_original_units"`
	DataFit           float64 `json:"data_fit"`
	Complexity        float64 `json:"complexity"`
	Constant          float64 `json:"constant"`
	// Objective is what was minimised, or evaluated: ObjectiveName says what it
	// is the sum of, NegLogPrior is −log density of the priors in Priors, in
	// natural units of the scaled problem, without a Jacobian.
	Objective     float64           `json:"objective"`
	ObjectiveName string            `json:"objective_name"`
	NegLogPrior   *float64          `json:"neg_log_prior,omitempty"`
	Priors        map[string]string `json:"priors,omitempty"`
	// Jitter was added to the diagonal, in scaled units; 0 unless allowed.
	Jitter float64 `json:"jitter"`
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ over a few vectors e, with a recomputed Σ. It is nil
	// below 1,000 rows, and if the device cannot check its factor.
	Residual *float64 `json:"residual,omitempty"`
	// Parameters are natural values of the scaled problem. GradientLog is
	// ∂objective/∂log parameter (∂objective/∂coefficient for the mean's), by
	// free parameters; Tied says whose value the others take.
	Parameters              map[string]float64 `json:"parameters"`
	Tied                    map[string]string  `json:"tied,omitempty"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	GradientLog             map[string]float64 `json:"gradient_log,omitempty"`
	Evaluations             Counts             `json:"evaluations"`
	Seconds                 float64            `json:"seconds"`
	// EvaluationSeconds is the part of Seconds in evaluations, summed over
	// devices; after a fit.
	EvaluationSeconds float64 `json:"evaluation_seconds,omitempty"`
	Status            string  `json:"status"`
	// The rest is there after a fit.
	GradientNorm   *float64      `json:"gradient_norm,omitempty"`
	RelativeChange *float64      `json:"relative_change,omitempty"`
	Iterations     int           `json:"iterations,omitempty"`
	Seed           *uint64       `json:"seed,omitempty"`
	Starts         []StartReport `json:"starts,omitempty"`
	// Path is there if the fit went from coarse to fine; its last step is over
	// all rows.
	Path []StageReport `json:"path,omitempty"`
	// Optima are the distinct ones that the starts came to, best first; there
	// with restarts.
	Optima    []OptimumReport `json:"optima,omitempty"`
	AtBound   []string        `json:"at_bound,omitempty"`
	StdErrors *StdErrors      `json:"std_errors,omitempty"`
	Scores    Scores          `json:"scores,omitzero"`
	Test      *TestScores     `json:"test,omitempty"`
	Warnings  []string        `json:"warnings"`
	// ModelFile is where the model was written.
	ModelFile string `json:"model_file,omitempty"`

	// Names lists the parameters in order, NamesOriginal those of the original
	// units.
	Names         []string `json:"-"`
	NamesOriginal []string `json:"-"`
}

// Counts counts evaluations; those at full size are given apart.
type Counts struct {
	Value            int `json:"value"`
	Gradient         int `json:"gradient"`
	FullSizeValue    int `json:"full_size_value"`
	FullSizeGradient int `json:"full_size_gradient"`
	// Infeasible counts trials with a covariance that was not positive
	// definite.
	Infeasible int `json:"infeasible"`
}

// StartReport is one start of the optimiser. NLML is its objective where that
// is the NLML.
type StartReport struct {
	Objective  *float64 `json:"objective"`
	NLML       *float64 `json:"nlml,omitempty"`
	Status     string   `json:"status"`
	Iterations int      `json:"iterations"`
	Error      string   `json:"error,omitempty"`
	Best       bool     `json:"best"`
}

// StageReport is one step of coarse to fine: a descent from every start that is
// left, on so many rows, or the Hessian at the best of them.
type StageReport struct {
	// Step is "descent" or "hessian"; or with restarts on few rows "halves",
	// descents that have a random half of the rows each, and "hessians", at the
	// end of each.
	Step string `json:"step"`
	Rows int    `json:"rows"`
	// Starts counts the descents, Optima the distinct ones among their ends.
	Starts int `json:"starts,omitempty"`
	Optima int `json:"optima,omitempty"`
	// Objective, over these rows, and Parameters are those of the best end. NLML
	// is the objective where that is the NLML. Of halves it is the lowest, though
	// they are of different rows.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	Value      int                `json:"value"`
	Gradient   int                `json:"gradient"`
	Seconds    float64            `json:"seconds"`
}

// OptimumReport is a local optimum that starts have come to.
type OptimumReport struct {
	// Objective is its value, and NLML too where that is the objective.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	// Starts counts the starts that led here, Best marks the result.
	Starts int  `json:"starts"`
	Best   bool `json:"best"`
	// Dropped says that it was left where it is, since it could not become the
	// best any more: this is no optimum, only on the way to one.
	Dropped bool `json:"dropped,omitempty"`
	// Rows is the number of rows that the NLML of a dropped one is over where
	// that is not all.
	Rows int `json:"rows,omitempty"`
}

// Coefficient is one of the mean function's, in scaled and in original units.
// In original units it belongs to the same function of the original columns;
// the constant of the mean takes up the shifts.
type Coefficient struct {
	Name          string  `json:"name"`
	Value         float64 `json:"value"`
	OriginalUnits float64 `json:"original_units"`
	// The standard errors are the square roots of the diagonal of (HᵀΣ⁻¹H)⁻¹,
	// with the other parameters held. There are none for coefficients that are
	// parameters.
	StandardError              *float64 `json:"standard_error,omitempty"`
	StandardErrorOriginalUnits *float64 `json:"standard_error_original_units,omitempty"`
	// Centre and Width are those of a bump, in original units.
	Centre *float64 `json:"centre_original_units,omitempty"`
	Width  *float64 `json:"width_original_units,omitempty"`
}

// TargetReport is one of several targets' part of a report.
type TargetReport struct {
	Name string `json:"name"`
	// NLML is the target's part of the sum, and DataFit that of its data fit;
	// complexity and constant are the same for every target.
	NLML                    float64            `json:"nlml"`
	NLMLOriginalUnits       float64            `json:"nlml_original_units"`
	DataFit                 float64            `json:"data_fit"`
	Complexity              float64            `json:"complexity"`
	Constant                float64            `json:"constant"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	MeanCoefficients        []Coefficient      `json:"mean_coefficients,omitempty"`
	Test                    *TestScores        `json:"test,omitempty"`
	// names are those of ParametersOriginalUnits that are the target's own, in
	// order.
	names []string
}

// StdErrors are asymptotic standard errors of the free parameters: the inverse
// of the Hessian of the objective at its optimum is the covariance of the
// log-parameters z (of the coefficients of the mean, as they are). With priors
// this is the Laplace approximation of the posterior.
//
// They say how well the data determine a parameter where the objective is a
// parabola in z over about two standard errors; in small samples, and for a
// parameter near the edge of what the data tell, it is not.
type StdErrors struct {
	// Names are the parameters over which the Hessian was formed, in the order
	// of its rows; LeftOut those that are fixed or at a bound.
	Names   []string `json:"names"`
	LeftOut []string `json:"left_out,omitempty"`
	// Hessian is ∂²objective/∂z∂z, symmetric. Asymmetry is the largest
	// difference between its elements and their mirror images before they were
	// averaged, which shows the accuracy of the differences.
	Hessian   [][]float64 `json:"hessian"`
	Asymmetry float64     `json:"asymmetry"`
	// Eigenvalue is the Hessian's smallest. Failure says why there are no
	// standard errors, empty if there are.
	Eigenvalue float64 `json:"smallest_eigenvalue"`
	Failure    string  `json:"failure,omitempty"`
	// Log holds the standard errors of z. Scaled holds those in natural units,
	// by the delta method: θ·se(log θ). Original holds those in original units;
	// tied parameters are among both.
	Log      map[string]float64 `json:"log,omitempty"`
	Scaled   map[string]float64 `json:"parameters,omitempty"`
	Original map[string]float64 `json:"parameters_original_units,omitempty"`
	// Interval95 holds z ± 1.96 se(z) in natural units of the scaled problem.
	Interval95 map[string][2]float64 `json:"interval95,omitempty"`
}

// Scores are measures of a model beside its likelihood; those that were asked
// for.
type Scores struct {
	LeaveOneOut     *LeaveOneOutScore      `json:"loo,omitempty"`
	CrossValidation *CrossValidationScores `json:"cv,omitempty"`
}

// TestScores are those of held-out rows, in original units and in units of the
// training targets' standard deviation.
type TestScores struct {
	N int `json:"n"`
	// RMSE is the root mean squared error of the mean.
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// Coverage95 is the share of rows within their 95 % interval.
	Coverage95 float64 `json:"coverage95"`
	// NLPD is the mean negative log predictive density of an observation.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
}

// LeaveOneOutScore is the log predictive density of leave-one-out at the
// parameters of all rows, those of a mean by least squares found anew without
// each row.
type LeaveOneOutScore struct {
	// Sum is −Σ log p(y_i | the other rows) of the scaled problem, comparable
	// with the NLML; SumOriginalUnits that of the original targets. Several
	// targets are summed over.
	Sum              float64 `json:"sum"`
	SumOriginalUnits float64 `json:"sum_original_units"`
	// NLPD is the mean over rows in original units, NLPDStandardized in units
	// of the training targets' standard deviation, as test scores are.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
}

// CrossValidationScores are scores of rows that were predicted from the other
// folds, in original units and in units of the standard deviation of all
// training targets.
type CrossValidationScores struct {
	Folds []FoldScores `json:"folds"`
	Seed  uint64       `json:"seed"`
	Refit bool         `json:"refit"`
	// RMSE is the root of the mean squared error over all rows, Coverage95 the
	// share of rows in their 95 % interval, NLPD the mean negative log predictive
	// density. Over several targets these are means as well, without RMSE: their
	// units differ. Targets then has them for each.
	RMSE             float64        `json:"rmse,omitempty"`
	RMSEStandardized float64        `json:"rmse_standardized"`
	Coverage95       float64        `json:"coverage95"`
	Targets          []TargetScores `json:"targets,omitempty"`
	// NLPDStdError is the standard error of NLPD, from its spread over folds.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
	NLPDStdError     Number `json:"nlpd_std_error"`
	// Warnings tell of folds that departed from what was asked: a jitter that
	// was added, a device that was exchanged. CrossValidate's callers pass them on.
	Warnings []string `json:"-"`
}

// TargetScores are those of one of several targets; see CrossValidationScores.
type TargetScores struct {
	Name             string  `json:"name"`
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	Coverage95       float64 `json:"coverage95"`
	NLPD             Number  `json:"nlpd"`
	NLPDStandardized Number  `json:"nlpd_standardized"`
	NLPDStdError     Number  `json:"nlpd_std_error"`
}

// FoldScores are those of one fold, in original units; of several targets, means
// over them, without RMSE.
type FoldScores struct {
	// N is the number of rows that were held out.
	N    int     `json:"n"`
	RMSE float64 `json:"rmse,omitempty"`
	// Coverage95 is as in CrossValidationScores.
	Coverage95 float64 `json:"coverage95"`
	// Parameters are those refitted, natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	NLPD       Number             `json:"nlpd"`
	tests      []*TestScores      // of each target
	warnings   []string
}

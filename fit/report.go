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
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ on sampled columns, with Σ formed anew;
	// checked on a GPU from 40,000 rows on.
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

package summary

// ProfileShow says what a profile shows of the objective.
type ProfileShow string

// The choices for ProfileOptions.Show.
const (
	// ProfileCurves is the default: the objective along one parameter at a time.
	ProfileCurves ProfileShow = "curves"
	// ProfileContour is the objective over two parameters.
	ProfileContour ProfileShow = "contour"
	// ProfileFits are the predictions for each pair of values of two parameters, along
	// the only input column.
	ProfileFits ProfileShow = "fits"
)

// ProfileShows lists the choices, the default first.
func ProfileShows() []ProfileShow {
	return []ProfileShow{ProfileCurves, ProfileContour, ProfileFits}
}

// ProfileOthers says what the parameters do that a profile does not move.
type ProfileOthers string

// The choices for ProfileOptions.Others.
const (
	// OthersTuned is the default: at each point the others minimize the objective. With
	// the NLML this is the profile likelihood (Pawitan 2001, In All Likelihood, §3.4).
	OthersTuned ProfileOthers = "tuned"
	// OthersHeld leaves the others where the fit ended.
	OthersHeld ProfileOthers = "held"
)

// ProfileOtherses lists the choices, the default first.
func ProfileOtherses() []ProfileOthers { return []ProfileOthers{OthersTuned, OthersHeld} }

// Profile is the objective along parameters, with what a fit of the job found.
type Profile struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// ObjectiveName names the terms of the objective, as in [Report].
	ObjectiveName string        `json:"objective_name"`
	Show          ProfileShow   `json:"show"`
	Others        ProfileOthers `json:"others"`
	// Sections holds a curve for each parameter, or one contour or grid of fits.
	Sections []ProfileSection `json:"sections"`
	// Optima lists the optima that the fit found, the best first. Without restarts that is one.
	Optima []OptimumReport `json:"optima"`
	// Evaluations counts the evaluations of the points, without the fit.
	Evaluations Counts   `json:"evaluations"`
	Seconds     float64  `json:"seconds"`
	Warnings    []string `json:"warnings"`
	// Report describes the fit.
	Report *Report `json:"report"`

	// Names lists the parameters in order. For fits, Inputs and Targets are the training
	// rows in original units, and Input and Target the names of their columns.
	Names           []string  `json:"-"`
	Input, Target   string    `json:"-"`
	Inputs, Targets []float64 `json:"-"`
}

// ProfileSection is the objective at the points of a grid over one parameter or two.
type ProfileSection struct {
	Axes []ProfileAxis `json:"axes"`
	// Points are in the order of the axes' values, the last axis fastest.
	Points []ProfilePoint `json:"points"`
	// Lowest is the index of the point with the lowest objective; -1 if none is defined.
	Lowest int `json:"lowest"`
	// Minima are the indices of the points that are lower than all their neighbours,
	// without the points at an end of a range.
	Minima []int `json:"minima,omitempty"`
	// Interval95 is the interval of the parameter's values around the lowest point of a
	// curve within which the profile likelihood is no less than exp(-1.92) of its largest
	// value. An end is nil if the curve does not reach it. Interval95 itself is nil if
	// the curve is no profile likelihood.
	Interval95 *ProfileInterval `json:"interval95,omitempty"`
}

// ProfileInterval is an interval of a parameter; nil means an unknown end. Gaps says that
// values within it are less likely than its ends: the likelihood has several peaks.
type ProfileInterval struct {
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
	Gaps  bool     `json:"gaps,omitempty"`
}

// ProfileAxis is a parameter that a section moves, with its natural values of the scaled problem.
type ProfileAxis struct {
	Name string `json:"name"`
	// Log means that the parameter is positive and its values are equally spaced on a
	// logarithmic scale.
	Log    bool      `json:"log"`
	Values []float64 `json:"values"`
	// OriginalName and OriginalUnits are the name and the values in original units; empty
	// if the parameter has several or depends on the target.
	OriginalName  string    `json:"original_name,omitempty"`
	OriginalUnits []float64 `json:"original_units,omitempty"`
	Index         int       `json:"-"`
}

// ProfilePoint is the objective and its terms at one point, NaN where they are not defined,
// which JSON writes as null.
type ProfilePoint struct {
	// Parameters holds natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters"`
	// Objective is the function that the fit minimizes. NLML = DataFit + Complexity + Constant.
	Objective   Number  `json:"objective"`
	NLML        Number  `json:"nlml"`
	DataFit     Number  `json:"data_fit"`
	Complexity  Number  `json:"complexity"`
	Constant    Number  `json:"constant"`
	NegLogPrior *Number `json:"neg_log_prior,omitempty"`
	// Jitter is the variance that was added to the diagonal, as Options.MaxJitter allows.
	Jitter float64 `json:"jitter,omitempty"`
	// Prediction is the prediction along the input column, for fits.
	Prediction *ProfilePrediction `json:"prediction,omitempty"`
	// Moved are the values of the section's axes, z is the objective's vector, and f the
	// objective, +Inf where it is not defined.
	Moved, Z []float64 `json:"-"`
	F        float64   `json:"-"`
	// Cut says that the descent ended because its evaluations were used up.
	Cut bool `json:"-"`
}

// ProfilePrediction is a prediction along one column, in original units.
type ProfilePrediction struct {
	Inputs []float64 `json:"inputs"`
	Mean   []float64 `json:"mean"`
	// Lower95 and Upper95 bound the 95 % interval of a new observation.
	Lower95 []float64 `json:"lower95"`
	Upper95 []float64 `json:"upper95"`
}

package summary

// CoarseReport says whether the fit made the descent from the start values over all rows besides
// (option coarse check), and where both ended. Without it, this descent may end lower than the fit.
type CoarseReport struct {
	Compared       bool     `json:"compared"`
	Objective      *float64 `json:"objective,omitempty"`
	PlainObjective *float64 `json:"plain_objective,omitempty"`
}

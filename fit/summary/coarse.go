package summary

// CoarseReport says where coarse to fine and the descent from the start values over all rows
// ended, with option coarse check. Models of earlier versions may have the report without numbers.
type CoarseReport struct {
	Compared       bool     `json:"compared"`
	Objective      *float64 `json:"objective,omitempty"`
	PlainObjective *float64 `json:"plain_objective,omitempty"`
}

package fit

import (
	"fmt"
	"strings"
)

// CoarseReport says whether the fit made the descent from the start values over all rows
// besides (option coarse check), and where both ended. Without it, this descent may end lower
// than the fit.
type CoarseReport struct {
	Compared       bool     `json:"compared"`
	Objective      *float64 `json:"objective,omitempty"`
	PlainObjective *float64 `json:"plain_objective,omitempty"`
}

// write prints how the end compares with the one of the descent from the start values.
func (c *CoarseReport) write(b *strings.Builder) {
	switch {
	case c == nil:
	case c.Objective == nil || c.PlainObjective == nil:
		b.WriteString("subsets of the rows led here: a descent from the start values over all rows may end lower (coarse check compares)\n")
	default:
		fmt.Fprintf(b, "coarse to fine ended at %.4f, the descent from the start values over all rows at %.4f\n", *c.Objective, *c.PlainObjective)
	}
}

package graph

// IdentitySlack returns the deviation of the last gradient from the trace identity,
// in units of the limit; 0 if it was not checked.
func (o *Objective) IdentitySlack() float64 { return o.solver.identity.slack }

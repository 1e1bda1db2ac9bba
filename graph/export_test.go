package graph

// IdentitySlack is how far the last gradient was from the identity of the trace, in
// units of what is allowed; 0 where it was not checked.
func (o *Objective) IdentitySlack() float64 { return o.solver.identity.slack }

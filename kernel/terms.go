package kernel

import "gpfit/internal/pair"

// Term is one term of the outermost sum of an expression.
type Term struct {
	// Text is the term's expression.
	Text string
	// Program computes the term alone. Its parameters keep their names in the
	// whole.
	Program *Program
	// Params[i] is the index, in the θ of the whole, of the i-th element of the
	// term's θ.
	Params []int
}

// Theta returns the term's elements of the θ of the whole.
func (t Term) Theta(whole []float64) []float64 {
	theta := make([]float64, len(t.Params))
	for i, p := range t.Params {
		theta[i] = whole[p]
	}
	return theta
}

// termRange is the range of a program's parameters that belong to a term.
type termRange struct {
	text                             string
	root                             *Node
	theta, thetaEnd, param, paramEnd int
}

// Terms compiles e and splits it into the terms of its outermost sum, in order; it
// also splits sums within that sum. The covariance of the whole is the sum of the
// covariances of the terms. An expression that is not a sum is one term. Terms
// returns the errors of [Compile].
func Terms(e Expr, labels []int) ([]Term, error) {
	prog, err := Compile(e, labels)
	if err != nil {
		return nil, err
	}
	parts := outerTerms(e)
	terms := make([]Term, len(prog.terms))
	for i, r := range prog.terms {
		part, err := prog.part(r, parts[i], labels)
		if err != nil {
			return nil, err
		}
		terms[i] = Term{Text: r.text, Program: part}
		for p := r.theta; p < r.thetaEnd; p++ {
			terms[i].Params = append(terms[i].Params, p)
		}
	}
	return terms, nil
}

// outerTerms lists the terms of the outermost sum, including those of sums within
// it.
func outerTerms(e Expr) []Expr {
	sum, ok := e.(Sum)
	if !ok {
		return []Expr{e}
	}
	var out []Expr
	for _, t := range sum {
		out = append(out, outerTerms(t)...)
	}
	return out
}

// part compiles a term alone and gives its parameters their names in the whole.
func (p *Program) part(r termRange, e Expr, labels []int) (*Program, error) {
	c := compiler{prog: &Program{D: p.D, Text: r.text, graph: pair.NewGraph()}, labels: labels, whole: e}
	pair.Building.Lock()
	defer pair.Building.Unlock()
	if err := c.top(e, ""); err != nil {
		return nil, err
	}
	c.prog.root = c.graph().Add(c.terms...)
	for i, param := range p.Params[r.param:r.paramEnd] {
		c.prog.Params[i].Name = param.Name
	}
	return c.prog, c.prog.finish()
}

package kernel

import "slices"

// Term is one term of the outermost sum of an expression.
type Term struct {
	// Text is the term's expression.
	Text string
	// Program computes the term alone. Its parameters keep the names that they
	// have in the whole.
	Program *Program
	// Params[i] is the index of the i-th element of the term's θ in that of
	// the whole.
	Params []int
}

// Theta picks the term's θ out of that of the whole.
func (t Term) Theta(whole []float64) []float64 {
	theta := make([]float64, len(t.Params))
	for i, p := range t.Params {
		theta[i] = whole[p]
	}
	return theta
}

// termRange says where in a program a term is.
type termRange struct {
	text                             string
	code, codeEnd                    int
	theta, thetaEnd, param, paramEnd int
}

// Terms compiles e and takes it apart into the terms of its outermost sum, in
// order, sums within sums included; the covariance of the whole is the sum of
// theirs. An expression that is no sum is one term. Errors are those of
// [Compile].
func Terms(e Expr, labels []int) ([]Term, error) {
	prog, err := Compile(e, labels)
	if err != nil {
		return nil, err
	}
	terms := make([]Term, len(prog.terms))
	for i, r := range prog.terms {
		terms[i] = Term{Text: r.text, Program: prog.part(r)}
		for p := r.theta; p < r.thetaEnd; p++ {
			terms[i].Params = append(terms[i].Params, p)
		}
	}
	return terms, nil
}

// part cuts a term out of a program: its code, its features and customs
// numbered anew, its parameters from 0 on.
func (p *Program) part(r termRange) *Program {
	q := &Program{D: p.D, Text: r.text, Code: slices.Clone(p.Code[r.code:r.codeEnd]), NumParams: r.thetaEnd - r.theta}
	shift := func(offset int) int {
		if offset < 0 {
			return offset
		}
		return offset - r.theta
	}
	for _, param := range p.Params[r.param:r.paramEnd] {
		param.Offset = shift(param.Offset)
		q.Params = append(q.Params, param)
	}
	features := map[int]int{}
	depth := 0
	for i := range q.Code {
		in := &q.Code[i]
		in.Param, in.Shape = shift(in.Param), shift(in.Shape)
		switch in.Op {
		case OpAdd, OpMul:
			depth--
			continue
		case OpScale:
			continue
		case OpCustom:
			leaf := p.Customs[in.Feature]
			leaf.Param = shift(leaf.Param)
			in.Feature = len(q.Customs)
			q.Customs = append(q.Customs, leaf)
		case OpConstant:
		default:
			f, ok := features[in.Feature]
			if !ok {
				f = len(q.Features)
				features[in.Feature] = f
				feature := p.Features[in.Feature]
				feature.Param, feature.Period = shift(feature.Param), shift(feature.Period)
				q.Features = append(q.Features, feature)
			}
			in.Feature = f
		}
		depth++
		q.Depth = max(q.Depth, depth)
	}
	q.terms = []termRange{{text: r.text, codeEnd: len(q.Code), thetaEnd: q.NumParams, paramEnd: len(q.Params)}}
	return q
}

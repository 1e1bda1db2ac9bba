package kernel

// Monomial is one term of a covariance function as it was written: a product of a variance, leaves
// and sums, which are sums of monomials again. Methods that use the structure of a kernel, such as
// its states, read it; all others evaluate the operations of the program.
type Monomial struct {
	// Variance is the position in θ of its signal variance, −1 if it has none.
	Variance int
	Leaves   []PlacedLeaf
	Sums     [][]*Monomial
}

// PlacedLeaf is a leaf with the positions of its columns and parameters.
type PlacedLeaf struct {
	*Leaf
	// Columns are the positions of the columns on which it acts.
	Columns []int
	// Places are the positions in θ of its parameters, or of the first of several, by name.
	Places map[string]int
}

// outline records monomials while a compiler visits the parts of an expression.
type outline struct {
	// open is the innermost monomial, and into the list of the innermost sum.
	open *Monomial
	into *[]*Monomial
}

// begin opens a monomial in the innermost sum. The caller closes it by end.
func (s *outline) begin() (end func()) {
	outer := s.open
	s.open = &Monomial{Variance: -1}
	*s.into = append(*s.into, s.open)
	return func() { s.open = outer }
}

// beginSum opens a sum in the innermost monomial. The caller closes it by end.
func (s *outline) beginSum() (end func()) {
	outer, terms := s.into, new([]*Monomial)
	s.into = terms
	return func() {
		s.into = outer
		s.open.Sums = append(s.open.Sums, *terms)
	}
}

// add adds a leaf with its parameters to the innermost monomial.
func (s *outline) add(l *Leaf, columns []int, placed map[string]*Param) {
	leaf := PlacedLeaf{Leaf: l, Columns: columns, Places: map[string]int{}}
	for name, q := range placed {
		if q != nil && q.Size > 0 {
			leaf.Places[name] = q.Offset
		}
	}
	s.open.Leaves = append(s.open.Leaves, leaf)
}

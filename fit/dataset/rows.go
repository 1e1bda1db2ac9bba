package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/hostmem"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/table"
	"gpfit/table/feature"
)

// Piece is the largest number of rows that [ModelRows.Next] returns.
const Piece = 1 << 13

// RowOptions selects the table columns for the model. The zero value finds them by
// their names in the training table.
type RowOptions struct {
	// Features selects columns by name, index or range of indices, in the order of
	// the model's features. Empty means the columns with the same names.
	Features []string
	// Header is auto, yes or no: whether the first row names the columns. Empty means auto.
	Header string
	// Text says how text is written, where that is not as in the training table. SkipLines are lines of it that are no part of the
	// table; see [table.Options].
	Text      feature.Text
	SkipLines string
	// RefuseUnseen makes errors of categories that the training table did not have. Otherwise all their
	// indicators are 0 and a warning counts their rows; their code is −1 if only hamming sees it, and else an error.
	RefuseUnseen bool
	// NoiseColumn is the column of known noise variances, NoiseGroup the column of noise group
	// labels. Empty means the column with the same name as in training, if the table has it.
	// DefaultGroup is the group of rows whose group the model does not have.
	NoiseColumn, NoiseGroup, DefaultGroup string
	// weightColumn is the column of weights with the same name as in training, if the table has it.
	weightColumn string
	// Missing says what to do with rows that have missing values in the columns used: "error", the
	// default; "drop", leave them out; or "blank", return them without numbers.
	Missing string
	// Keep are columns whose text the rows return.
	Keep []string
	// Observed says that the table has the model's targets, which the rows return.
	Observed bool
	// Formats holds file formats besides text and NumPy's, such as Parquet from package formats.
	Formats []table.Format
}

// Rows holds rows of a table: N rows of all features of a model, row-major, with their
// noise, and possibly rows without numbers.
type Rows struct {
	X     []float64
	N     int
	Noise gp.RowNoise
	// Observed holds N observations of each target with RowOptions.Observed, NaN where one is missing.
	Observed [][]float64
	// Total is the number of rows, blank rows included. Blank marks them; it is nil
	// if there are none.
	Total int
	Blank []bool
	// Keep holds a column of Total texts for each of RowOptions.Keep.
	Keep [][]string
	// Reading says what was read of the table, if these are all of its rows.
	Reading feature.Reading
}

// Clone returns a copy that remains valid after the next rows are read.
func (r Rows) Clone() Rows {
	r.X, r.Blank = slices.Clone(r.X), slices.Clone(r.Blank)
	r.Noise.Known, r.Noise.Group, r.Noise.Weight = slices.Clone(r.Noise.Known), slices.Clone(r.Noise.Group), slices.Clone(r.Noise.Weight)
	r.Observed, r.Keep = cloneColumns(r.Observed), cloneColumns(r.Keep)
	return r
}

func cloneColumns[E any](columns [][]E) [][]E {
	columns = slices.Clone(columns)
	for i, values := range columns {
		columns[i] = slices.Clone(values)
	}
	return columns
}

// ModelRows reads a table in pieces.
type ModelRows struct {
	in      *table.Reader
	model   *gp.Model
	options RowOptions
	into    []int // for each feature read, its index among the model's features
	buffer  []float64
	lacking []string // a warning about unknown noise
	done    int
	watched []*watchedColumn
}

// OpenRows opens a table of any format that gpfit reads, or for "-" the text from
// stdin. The table may lack features that the model does not use because they were
// constant; they are zero then. The caller must close the reader. Errors are
// [*problem.OptionError], and errors of the table with file, line and column.
func OpenRows(path string, stdin io.Reader, m *gp.Model, o RowOptions) (*ModelRows, error) {
	if err := o.check(m); err != nil {
		return nil, err
	}
	from := newColumns(m)
	columns := table.Options{
		NoTarget: true, Features: o.Features, Header: table.HeaderMode(o.Header), Missing: table.MissingMode(o.Missing), Keep: o.Keep,
		Formats: o.Formats, Encoding: from.choose, Text: o.Text.Or(from.encoding.Text), SkipLines: o.SkipLines,
	}
	if !o.RefuseUnseen {
		columns.Unseen = from.unseen(m)
	}
	if o.Observed {
		columns.NoTarget, columns.Targets = false, m.TargetNames()
	}
	if len(o.Features) == 0 {
		if !o.Observed {
			columns.Target = m.TargetName
		}
		columns.ByName = true
		for _, c := range from.used {
			name := from.encoding.Columns[c].Name
			columns.Features = append(columns.Features, name)
			if _, err := strconv.ParseFloat(name, 64); err == nil && columns.Header != table.HeaderNo {
				columns.Header = table.HeaderYes // such names make a header look like data
			}
		}
	}
	var watched []*watchedColumn
	columns.Amend = func(names []string, columns *table.Options) {
		o.findNoise(m, names, columns)
		watched = watch(m, from, names, columns)
	}
	open := table.Open
	if path == "-" {
		open = func(path string, columns table.Options) (*table.Reader, error) {
			return table.NewReader(stdin, path, columns)
		}
	}
	in, err := open(path, columns)
	if err != nil {
		return nil, err
	}
	r := &ModelRows{in: in, model: m, options: o, into: from.into, watched: watched}
	if o.NoiseColumn == "" && m.Noise.Column != "" {
		r.lacking = []string{fmt.Sprintf("the table has no column %q of known noise variances: std does not include them", m.Noise.Column)}
	}
	return r, nil
}

func (o *RowOptions) check(m *gp.Model) error {
	grouped := m.Noise.GroupColumn != ""
	switch {
	case o.NoiseColumn != "" && m.Noise.Column == "":
		return &problem.OptionError{Option: "noise-column", Msg: "the model was fitted without known variances"}
	case o.NoiseGroup != "" && !grouped:
		return &problem.OptionError{Option: "noise-group", Msg: "the model has no noise groups"}
	case o.DefaultGroup != "" && !grouped:
		return &problem.OptionError{Option: "noise-group-default", Msg: "the model has no noise groups"}
	}
	return nil
}

// findNoise looks for the model's noise columns among the names of the table's columns,
// unless the options name others, and adds them to the columns to read.
func (o *RowOptions) findNoise(m *gp.Model, names []string, columns *table.Options) {
	for _, c := range []struct {
		given *string
		name  string
		into  *[]string
	}{{&o.NoiseColumn, m.Noise.Column, &columns.Extra}, {&o.weightColumn, m.Noise.WeightColumn, &columns.Extra}, {&o.NoiseGroup, m.Noise.GroupColumn, &columns.ExtraText}} {
		if *c.given == "" && slices.Contains(names, c.name) {
			*c.given = c.name
		}
		if *c.given != "" {
			*c.into = append(*c.into, *c.given)
		}
	}
}

// Next returns the next rows, at most [Piece], and none after the last: Total is 0
// then. They are valid until the next call. Errors are [*gp.NoiseError] if a row lacks noise
// information that the model needs, and errors of the table.
func (r *ModelRows) Next() (Rows, error) {
	t, err := r.in.Next(max(1, min(Piece, pieceNumbers/len(r.model.FeatureNames))))
	if err == io.EOF {
		return Rows{}, nil
	}
	if err != nil {
		return Rows{}, err
	}
	all := len(r.model.FeatureNames)
	if len(r.buffer) < t.N*all {
		r.buffer = make([]float64, t.N*all)
	}
	whole, o := matrixrows.Marked(t.Gap, t.N, false), r.options
	noise := gp.RowNoise{Known: t.Extra[o.NoiseColumn], Group: t.ExtraText[o.NoiseGroup], DefaultGroup: o.DefaultGroup, Weight: t.Extra[o.weightColumn]}
	out := Rows{X: r.buffer[:len(whole)*all], N: len(whole), Total: t.N, Noise: noise.Pick(whole)}
	if kept := len(t.Keep) - len(r.watched); kept > 0 {
		out.Keep = t.Keep[:kept]
	}
	for i, c := range r.watched {
		if c.look(t.Keep[len(t.Keep)-len(r.watched)+i], r.done); c.others > 0 && o.RefuseUnseen && c.column.Kind == feature.Category {
			return Rows{}, &problem.DataError{Msg: fmt.Sprintf("row %d (from 1), column %q: %v; option unseen zero accepts it", c.row, c.column.Name, &feature.UnseenError{Label: c.first, Known: c.column.Categories})}
		}
	}
	if len(whole) < t.N {
		out.Blank = t.Gap
	}
	for i, row := range whole {
		for q, c := range r.into {
			out.X[i*all+c] = t.X[row*t.D+q]
		}
	}
	for _, values := range t.Targets {
		out.Observed = append(out.Observed, matrixrows.Values(values, whole))
	}
	if _, err := out.Noise.Variances(r.model, out.N); err != nil {
		if ne, ok := errors.AsType[*gp.NoiseError](err); ok && ne.Row >= 0 {
			ne.Row = r.done + whole[ne.Row]
		}
		return Rows{}, err
	}
	r.done += t.N
	return out, nil
}

// pieceNumbers bounds the size of a piece with many columns, in numbers.
const pieceNumbers = 4 << 20

// All returns all remaining rows. It returns the errors of [ModelRows.Next], and [*gp.SizeError].
func (r *ModelRows) All() (Rows, error) {
	all := Rows{Noise: gp.RowNoise{DefaultGroup: r.options.DefaultGroup}}
	for {
		piece, err := r.Next()
		if err != nil || piece.Total == 0 {
			all.Reading = r.Reading()
			return all, err
		}
		if need, free := int64(8*2*len(all.X)), hostmem.Free(); free > 0 && need > free {
			return all, &gp.SizeError{What: fmt.Sprintf("holding more than %d rows at once", all.N), Need: need, Free: free}
		}
		all.X, all.N, all.Total = append(all.X, piece.X...), all.N+piece.N, all.Total+piece.Total
		if piece.Blank != nil || all.Blank != nil {
			all.Blank = append(all.Blank, make([]bool, all.Total-piece.Total-len(all.Blank))...)
			all.Blank = append(all.Blank, append(piece.Blank, make([]bool, piece.Total-len(piece.Blank))...)...)
		}
		all.Keep, all.Observed = appendColumns(all.Keep, piece.Keep), appendColumns(all.Observed, piece.Observed)
		all.Noise.Known, all.Noise.Group = append(all.Noise.Known, piece.Noise.Known...), append(all.Noise.Group, piece.Noise.Group...)
		all.Noise.Weight = append(all.Noise.Weight, piece.Noise.Weight...)
	}
}

// Pick returns the given ones of rows without blanks.
func (r Rows) Pick(which []int) Rows {
	if len(which) == r.N {
		return r
	}
	all := 0
	if r.N > 0 {
		all = len(r.X) / r.N
	}
	out := Rows{N: len(which), Total: len(which), Reading: r.Reading, Noise: r.Noise.Pick(which), X: matrixrows.Rows(r.X, which, r.N, all)}
	for _, y := range r.Observed {
		out.Observed = append(out.Observed, matrixrows.Values(y, which))
	}
	return out
}

// appendColumns appends the columns of a piece to the columns of the rows before.
func appendColumns[E any](all, piece [][]E) [][]E {
	if all == nil && piece != nil {
		all = make([][]E, len(piece))
	}
	for i, values := range piece {
		all[i] = append(all[i], values...)
	}
	return all
}

// KeptNames returns the names of the columns of RowOptions.Keep.
func (r *ModelRows) KeptNames() []string {
	names := r.in.KeptNames()
	return names[:len(names)-len(r.watched)]
}

// Progress returns the share of the table that has been read, 0 if it is unknown.
func (r *ModelRows) Progress() float64 { return r.in.Progress() }

// Reading returns what was read of the table so far.
func (r *ModelRows) Reading() feature.Reading { return r.in.Reading() }

// Warnings returns the warnings about the rows read so far. Later calls only append to the list.
func (r *ModelRows) Warnings() []string {
	all := append(slices.Clone(r.lacking), r.in.Warnings()...)
	for _, c := range r.watched {
		if c.others > 0 {
			all = append(all, c.String())
		}
	}
	return all
}

// Close closes the table.
func (r *ModelRows) Close() error { return r.in.Close() }

// columns relates the columns of a table to the features of a model.
type columns struct {
	encoding *feature.Encoding
	// used are the columns that have a feature that the model uses.
	used []int
	// into holds, once choose has chosen, the index of each feature read.
	into []int
}

func newColumns(m *gp.Model) *columns {
	c := &columns{encoding: m.Encoding}
	if c.encoding == nil {
		c.encoding = feature.Numbers(m.FeatureNames)
	}
	of := c.encoding.Sources()
	for _, f := range m.Columns {
		if !slices.Contains(c.used, of[f]) {
			c.used = append(c.used, of[f])
		}
	}
	return c
}

// unseen returns what table.Options.Unseen is for a model: codes of other categories mean something only to kernels that
// ask whether they are equal.
func (c *columns) unseen(m *gp.Model) func(feature.Coding) string {
	others := map[string]bool{} // columns that have another use
	program, err := m.Program()
	of := c.encoding.Sources()
	use := func(k int) { others[c.encoding.Columns[of[m.Columns[k]]].Name] = true }
	var visit func(terms []*kernel.Monomial)
	visit = func(terms []*kernel.Monomial) {
		for _, t := range terms {
			for _, leaf := range t.Leaves {
				for _, k := range leaf.Columns {
					if leaf.Family.Name != "hamming" && leaf.Family.Name != "constant" {
						use(k)
					}
				}
			}
			for _, sum := range t.Sums {
				visit(sum)
			}
		}
	}
	if err == nil {
		visit(program.Monomials())
	}
	for _, f := range m.Mean.Basis {
		if f.Group != mean.Constant {
			use(f.Column)
		}
	}
	return func(column feature.Coding) string {
		if column.Codes && (err != nil || others[column.Name]) {
			return "; its code would be a number to the model: only the kernel hamming takes codes of other categories"
		}
		return ""
	}
}

// choose returns the encodings of that many columns: of the columns that the model uses, or of all.
func (c *columns) choose(count int) ([]feature.Coding, error) {
	chosen := c.used
	switch all := len(c.encoding.Columns); count {
	case len(c.used):
	case all:
		chosen = nil
		for i := range all {
			chosen = append(chosen, i)
		}
	default:
		return nil, &problem.OptionError{Option: "features", Msg: fmt.Sprintf("selects %d columns, but the model has %d", count, all)}
	}
	out := make([]feature.Coding, len(chosen))
	c.into = nil
	of := c.encoding.Sources()
	for i, k := range chosen {
		out[i] = c.encoding.Columns[k]
		for f := range of {
			if of[f] == k {
				c.into = append(c.into, f)
			}
		}
	}
	return out, nil
}

// Package rows reads the rows of a table for prediction with a fitted model: the
// model's features, found by name, and the known noise of each row. Start with
// [Open], which returns a reader that delivers the rows in pieces, so that the
// table need not fit in memory.
package rows

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"gpfit/gp"
	"gpfit/internal/hostmem"
	"gpfit/table"
)

// Piece is the largest number of rows that [ModelRows.Next] returns.
const Piece = 1 << 13

// Options selects the table columns for the model. The zero value finds them by
// their names in the training table.
type Options struct {
	// Features selects columns by name, index or range of indices, in the order of
	// the model's features. Empty means the columns with the same names.
	Features []string
	// Header is auto, yes or no: whether the first row names the columns. Empty
	// means auto.
	Header string
	// Decimal is the decimal sign of text, "." or ","; empty means the one of the training
	// table. UnseenZero accepts categories that the training table did not have: all their
	// indicators are 0, and their code is −1.
	Decimal    string
	UnseenZero bool
	// NoiseColumn is the column of known noise variances, NoiseGroup the column of
	// noise group labels. Empty means the column with the same name as in training,
	// if the table has it. DefaultGroup is the group of rows whose group the model
	// does not have.
	NoiseColumn, NoiseGroup, DefaultGroup string
	// Formats holds file formats beside text and NumPy's, such as the one of
	// table/parquet.
	Formats []table.Format
}

// MismatchError reports an option that does not fit the model.
type MismatchError struct {
	// Option is the option's name in the table of package option. Msg describes the problem.
	Option, Msg string
}

func (e *MismatchError) Error() string { return "option " + e.Option + ": " + e.Msg }

// Rows holds N rows of all features of a model, row-major, and their noise.
type Rows struct {
	X     []float64
	N     int
	Noise gp.RowNoise
}

// ModelRows reads a table in pieces.
type ModelRows struct {
	in      *table.Reader
	model   *gp.Model
	options Options
	into    []int // for each feature read, its index among the model's features
	buffer  []float64
	lacking []string // a warning about unknown noise
	done    int
}

// Open opens a table of any format that gpfit reads, or for "-" the text from
// stdin. The table may lack features that the model does not use because they were
// constant; they are zero then. The caller must close the reader. Errors are
// [*MismatchError], and errors of the table with file, line and column.
func Open(path string, stdin io.Reader, m *gp.Model, o Options) (*ModelRows, error) {
	if err := o.check(m); err != nil {
		return nil, err
	}
	header, err := table.ParseHeader(o.Header)
	if err != nil {
		return nil, err
	}
	from := newColumns(m)
	columns := table.Options{NoTarget: true, Features: o.Features, Header: header, Formats: o.Formats, Encoding: from.choose, UnseenZero: o.UnseenZero}
	if columns.Decimal, err = table.ParseDecimal(cmp.Or(o.Decimal, from.encoding.Decimal)); err != nil {
		return nil, err
	}
	if len(o.Features) == 0 {
		columns.Target = m.TargetName
		for _, c := range from.used {
			columns.Features = append(columns.Features, from.encoding.Columns[c].Name)
		}
	}
	if m.Noise.Column != "" || m.Noise.GroupColumn != "" {
		if stdin, err = o.findNoise(path, stdin, m, &columns); err != nil {
			return nil, err
		}
	}
	in, err := open(path, stdin, columns)
	if err != nil {
		return nil, err
	}
	r := &ModelRows{in: in, model: m, options: o, into: from.into}
	if o.NoiseColumn == "" && m.Noise.Column != "" {
		r.lacking = []string{fmt.Sprintf("the table has no column %q of known noise variances: std does not include them", m.Noise.Column)}
	}
	return r, nil
}

func (o *Options) check(m *gp.Model) error {
	if o.NoiseColumn != "" && m.Noise.Column == "" {
		return &MismatchError{"noise-column", "the model was fitted without known variances"}
	}
	if m.Noise.GroupColumn == "" && o.NoiseGroup != "" {
		return &MismatchError{"noise-group", "the model has no noise groups"}
	}
	if m.Noise.GroupColumn == "" && o.DefaultGroup != "" {
		return &MismatchError{"noise-group-default", "the model has no noise groups"}
	}
	return nil
}

func open(path string, stdin io.Reader, o table.Options) (*table.Reader, error) {
	if path == "-" {
		return table.NewReader(stdin, "-", o)
	}
	return table.Open(path, o)
}

// findNoise looks for the model's noise columns in the table, unless the options
// name others, and adds them to the columns to read. It returns a reader of the
// same input, because it has to read standard input into memory.
func (o *Options) findNoise(path string, stdin io.Reader, m *gp.Model, columns *table.Options) (io.Reader, error) {
	first := stdin
	if path == "-" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return nil, err
		}
		first, stdin = bytes.NewReader(text), bytes.NewReader(text)
	}
	in, err := open(path, first, *columns)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	names := in.Names()
	if o.NoiseColumn == "" && slices.Contains(names, m.Noise.Column) {
		o.NoiseColumn = m.Noise.Column
	}
	if o.NoiseGroup == "" && slices.Contains(names, m.Noise.GroupColumn) {
		o.NoiseGroup = m.Noise.GroupColumn
	}
	if o.NoiseColumn != "" {
		columns.Extra = []string{o.NoiseColumn}
	}
	if o.NoiseGroup != "" {
		columns.ExtraText = []string{o.NoiseGroup}
	}
	return stdin, nil
}

// Next returns the next rows, at most [Piece], and none after the last. They are
// valid until the next call. Errors are [*gp.NoiseError] if a row lacks noise
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
	out := Rows{X: r.buffer[:t.N*all], N: t.N, Noise: gp.RowNoise{
		Known: t.Extra[r.options.NoiseColumn], Group: t.ExtraText[r.options.NoiseGroup], DefaultGroup: r.options.DefaultGroup,
	}}
	for i := range t.N {
		for q, c := range r.into {
			out.X[i*all+c] = t.X[i*t.D+q]
		}
	}
	if err := r.model.CheckNoise(t.N, out.Noise); err != nil {
		var ne *gp.NoiseError
		if errors.As(err, &ne) && ne.Row >= 0 {
			ne.Row += r.done
		}
		return Rows{}, err
	}
	r.done += t.N
	return out, nil
}

// pieceNumbers bounds the size of a piece with many columns, in numbers.
const pieceNumbers = 4 << 20

// All returns all remaining rows. It returns the errors of [ModelRows.Next], and
// [*gp.SizeError].
func (r *ModelRows) All() (Rows, error) {
	all := Rows{Noise: gp.RowNoise{DefaultGroup: r.options.DefaultGroup}}
	for {
		piece, err := r.Next()
		if err != nil || piece.N == 0 {
			return all, err
		}
		if need, free := int64(8*2*len(all.X)), hostmem.Free(); free > 0 && need > free {
			return all, &gp.SizeError{What: fmt.Sprintf("holding more than %d rows at once", all.N), Need: need, Free: free}
		}
		all.X, all.N = append(all.X, piece.X...), all.N+piece.N
		all.Noise.Known, all.Noise.Group = append(all.Noise.Known, piece.Noise.Known...), append(all.Noise.Group, piece.Noise.Group...)
	}
}

// Warnings returns the warnings about the rows read so far. Later calls only append
// to the list.
func (r *ModelRows) Warnings() []string { return append(slices.Clone(r.lacking), r.in.Warnings()...) }

// Close closes the table.
func (r *ModelRows) Close() error { return r.in.Close() }

// Package rows reads the rows of a table as a fitted model wants them: the
// model's features, found by their names, and what is known of the noise of each
// row. Start at [Open]; the rows then come in pieces, so that a table need not be
// in memory as a whole.
package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"gpfit/gp"
	"gpfit/internal/hostmem"
	"gpfit/table"
)

// Piece is how many rows [ModelRows.Next] returns at most.
const Piece = 1 << 13

// Options say which columns of a table are the model's. The zero value finds them
// by the names that the model was trained with.
type Options struct {
	// Features are columns by name, index or range of indices, in the order of
	// the model's features; empty for those of the same names.
	Features []string
	// Header says whether the first row names the columns: auto, yes or no;
	// empty means auto.
	Header string
	// NoiseColumn is the column of known noise variances, NoiseGroup that of
	// labels of noise groups; empty for the model's own, if the table has it.
	// DefaultGroup is the group of rows without one that the model knows.
	NoiseColumn, NoiseGroup, DefaultGroup string
	// Formats are further formats of files, beside text and NumPy's, such as that of
	// table/parquet.
	Formats []table.Format
}

// MismatchError reports an option that does not fit the model.
type MismatchError struct {
	// Option is the field's name, Msg what is wrong.
	Option, Msg string
}

func (e *MismatchError) Error() string { return e.Option + ": " + e.Msg }

// Rows are N rows of all features of a model, row-major, and their noise.
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
	into    []int // for each column that is read, its place among the model's features
	buffer  []float64
	lacking []string // a warning of noise that is not known
	done    int
}

// Open opens a table of any format that gpfit reads, or for "-" the text from
// stdin. Features that the model does not use, because they were constant, need
// not be in the table and are left zero. The caller closes the reader. Errors:
// [*MismatchError], and those of the table with file, line and column.
func Open(path string, stdin io.Reader, m *gp.Model, o Options) (*ModelRows, error) {
	if err := o.check(m); err != nil {
		return nil, err
	}
	header, err := table.ParseHeader(o.Header)
	if err != nil {
		return nil, err
	}
	columns := table.Options{NoTarget: true, Features: o.Features, Header: header, Formats: o.Formats}
	if len(o.Features) == 0 {
		columns.Target = m.TargetName
		for _, c := range m.Columns {
			columns.Features = append(columns.Features, m.FeatureNames[c])
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
	r := &ModelRows{in: in, model: m, options: o, into: m.Columns}
	switch all := len(m.FeatureNames); in.Columns() {
	case len(m.Columns):
	case all:
		r.into = nil
		for c := range all {
			r.into = append(r.into, c)
		}
	default:
		_ = in.Close()
		return nil, &MismatchError{"Features", fmt.Sprintf("gives %d columns, the model has %d", in.Columns(), all)}
	}
	if o.NoiseColumn == "" && m.Noise.Column != "" {
		r.lacking = []string{fmt.Sprintf("the table has no column %q of known noise variances: std is that of an observation without them", m.Noise.Column)}
	}
	return r, nil
}

func (o *Options) check(m *gp.Model) error {
	if o.NoiseColumn != "" && m.Noise.Column == "" {
		return &MismatchError{"NoiseColumn", "the model was fitted without known variances"}
	}
	if (o.NoiseGroup != "" || o.DefaultGroup != "") && m.Noise.GroupColumn == "" {
		return &MismatchError{"NoiseGroup", "the model has no noise groups"}
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
// name others, and adds them to the columns to be read. It returns the input once
// more: standard input is read into memory for that.
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

// Next returns the next rows, [Piece] at most and none after the last. They are
// valid until the next call. Errors: [*gp.NoiseError] where the model needs to
// know more of a row's noise, and those of the table.
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

// pieceNumbers bounds the numbers of a piece of many columns.
const pieceNumbers = 4 << 20

// All returns all rows that are left. Errors are those of [ModelRows.Next], and
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

// Warnings tells what a user should know about the rows read so far. Those told
// once stay where they are.
func (r *ModelRows) Warnings() []string { return append(slices.Clone(r.lacking), r.in.Warnings()...) }

// Close closes the table.
func (r *ModelRows) Close() error { return r.in.Close() }

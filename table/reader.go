package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/table/feature"
)

// Reader reads a table in pieces, for tables that need not be in memory as a whole.
// [Read] reads other tables.
type Reader struct {
	src     source
	opts    Options
	sel     selection
	cells   []cells          // of the features
	encoded []feature.Coding // how Options.Encoding reads the features; else nil
	faults  []*fault         // of the features in the current row; nil for a number
	numeric []int            // the other columns whose numbers are needed
	index   *rowIndex        // the features that may count the rows; nil in pieces
	chunk   *Table
	rows    int    // read so far, dropped ones included
	gaps    int    // rows with missing values
	gap     *Error // the first of them
	notes   []string
	told    int  // warnings of src among the notes
	ended   bool // all rows are read
}

// Open opens the table at path, as [Read] does, for reading in pieces. It ignores
// Options.Subsample and Options.Columns.
func Open(path string, opts Options) (*Reader, error) {
	opts.Columns = nil
	return open(path, opts)
}

func open(path string, opts Options) (*Reader, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	src, err := openPath(path, opts)
	if err != nil {
		return nil, err
	}
	return newReader(src, opts)
}

// NewReader is [Open] for text from r. source is its name in errors, "-" for standard
// input. Closing the Reader does not close r.
func NewReader(r io.Reader, source string, opts Options) (*Reader, error) {
	opts.Columns = nil
	return newTextReader(r, source, opts)
}

func newTextReader(r io.Reader, source string, opts Options) (*Reader, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	in, err := openRows(r, nil, source, opts)
	if err != nil {
		return nil, err
	}
	return newReader(in, opts)
}

// newReader chooses the columns. On an error it closes src.
func newReader(src source, opts Options) (*Reader, error) {
	r := &Reader{src: src, opts: opts}
	if opts.Amend != nil {
		opts.Amend(r.Names(), &r.opts)
	}
	if err := r.choose(); err != nil {
		src.close()
		return nil, err
	}
	return r, nil
}

// choose chooses the columns and how to read them.
func (r *Reader) choose() error {
	var err error
	if r.sel, err = r.src.begun().choose(r.opts); err != nil {
		return err
	}
	if err := r.chooseCells(); err != nil {
		return err
	}
	if err := r.checkHeader(); err != nil {
		return err
	}
	r.numeric, r.faults = r.sel.numeric(), make([]*fault, len(r.cells))
	texts := slices.Concat(r.sel.extraStr, r.sel.keep) // few, unlike the features
	numbers, labels := slices.Clone(r.numeric), slices.Clone(texts)
	for i, c := range r.sel.features {
		switch {
		case r.cells[i].text(r.src.kind(c)):
			if !slices.Contains(texts, c) {
				labels = append(labels, c)
			}
		case !slices.Contains(r.numeric, c):
			numbers = append(numbers, c)
		}
	}
	err = r.src.use(numbers, labels)
	if e, ok := errors.AsType[*Error](err); ok {
		r.explainTarget(e)
	}
	return err
}

// explainTarget adds to an error in the target why this column is the target, if nothing names it.
func (r *Reader) explainTarget(e *Error) {
	if e.Column == r.sel.target+1 && e.Column > 0 && r.opts.Target == "" {
		e.Msg += "; the last column is the target by default: option target names another"
	}
}

// checkHeader returns an error if the row that was taken for a header without being asked is a row of
// the encoding, and the features are chosen by index, so that nothing else would tell.
func (r *Reader) checkHeader() error {
	h := r.src.begun()
	if r.encoded == nil || r.opts.ByName || r.opts.Header != HeaderAuto || !h.named || h.blank == nil {
		return nil
	}
	for i, c := range r.sel.features {
		e := r.cells[i].(*encodedCells)
		if e.as.Kind == feature.Number {
			if _, ok := parseNumber([]byte(h.names[c])); !ok {
				return nil
			}
		} else if _, err := e.encoder.Value(h.names[c]); err != nil {
			return nil
		}
	}
	return &Error{Source: h.source, Line: h.first, Msg: "is this row the header or data? Its cells are values of the features; say so by option header yes or no"}
}

// chooseCells decides how to read the features.
func (r *Reader) chooseCells() error {
	h, features := r.src.begun(), r.sel.features
	r.cells = make([]cells, len(features))
	if r.opts.Encoding != nil {
		var err error
		if r.encoded, err = r.opts.Encoding(len(features)); err != nil {
			return err
		}
		for i, c := range r.encoded {
			refusal := r.refusal(c)
			encoder, err := c.Encoder()
			if err != nil {
				return err
			}
			r.cells[i] = &encodedCells{as: c, encoder: encoder, zero: refusal == "", refusal: refusal}
		}
		return nil
	}
	if r.opts.Columns == nil {
		for i := range features {
			r.cells[i] = numberCells{}
		}
		return nil
	}
	asked, err := h.askedKinds(r.opts.Columns, features)
	for i, c := range features {
		r.cells[i] = &learnedCells{name: h.names[c], asked: asked[c], rules: r.opts.Columns}
	}
	return err
}

// refusal returns the end of the error for a category that a column does not have, "" if the column accepts it.
func (r *Reader) refusal(c feature.Coding) string {
	if r.opts.Unseen == nil {
		return "; option unseen zero accepts it"
	}
	return r.opts.Unseen(c)
}

// Progress returns the share of the input that has been read, 0 if it is unknown.
func (r *Reader) Progress() float64 { return r.src.progress() }

// Names returns the names of all columns of the table.
func (r *Reader) Names() []string { return slices.Clone(r.src.begun().names) }

// KeptNames returns the names of the columns of Options.Keep.
func (r *Reader) KeptNames() []string {
	var names []string
	for _, c := range r.sel.keep {
		names = append(names, r.src.begun().names[c])
	}
	return names
}

// Close closes the files.
func (r *Reader) Close() error { return r.src.close() }

// Next returns the next rows, at least one and at most most, as a table that is valid
// until the next call. Its Row and SourceRows count from the beginning of the table.
// The error is io.EOF after the last row, else an [*Error]. A table without rows is
// an error. [Reader.Warnings] returns the warnings.
func (r *Reader) Next(most int) (*Table, error) {
	if r.chunk == nil {
		r.chunk = r.newTable()
		r.chunk.Row = []int{}
	}
	t := r.chunk
	t.truncate(0)
	for t.N < most {
		if err := r.append(t); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	t.SourceRows, t.Reading = r.rows, r.Reading()
	if t.N > 0 {
		return t, nil
	}
	if r.rows == r.dropped() {
		return nil, r.nothing()
	}
	return nil, io.EOF
}

// Warnings returns what a user should know about the rows read so far. Later calls return the same
// warnings first. Only the last one, the number of rows dropped, changes.
func (r *Reader) Warnings() []string {
	r.collect()
	notes := slices.Clone(r.notes)
	for i := range r.encoded {
		if r.ended {
			notes = append(notes, r.cells[i].(*encodedCells).notes()...)
		}
	}
	if r.gaps > 0 {
		done := "left out"
		if r.opts.Missing == MissingMark {
			done = "left blank"
		}
		notes = append(notes, fmt.Sprintf("%s %d of %s: missing values (first: %v)", done, r.gaps, textform.Counted(r.rows, "row"), r.gap))
	}
	return notes
}

// Reading returns what was read so far.
func (r *Reader) Reading() feature.Reading {
	comments, blanks := r.src.skipped()
	return feature.Reading{Rows: r.rows, Columns: len(r.src.begun().names), Dropped: r.dropped(), Comments: comments, BlankLines: blanks}
}

// collect adds new warnings of src to the notes, which so keep the order in which they appeared.
func (r *Reader) collect() {
	r.notes, r.told = append(r.notes, r.src.warnings()[r.told:]...), len(r.src.warnings())
}

// dropped returns the number of rows left out.
func (r *Reader) dropped() int {
	if r.opts.Missing == MissingMark {
		return 0
	}
	return r.gaps
}

// nothing returns the error for a table without rows.
func (r *Reader) nothing() error {
	if r.dropped() == 0 {
		return r.src.noRows()
	}
	return &Error{Source: r.src.begun().source, Err: r.gap,
		Msg: fmt.Sprintf("no rows left: all %d have missing values (first: %v)", r.gaps, r.gap)}
}

// newTable returns a table without rows.
func (r *Reader) newTable() *Table {
	h := r.src.begun()
	t := &Table{Source: h.source}
	for i, c := range r.sel.features {
		names := []string{h.names[c]}
		if r.encoded != nil {
			names = r.encoded[i].Features()
		}
		t.FeatureNames = append(t.FeatureNames, names...)
	}
	t.D = len(t.FeatureNames)
	if r.sel.target >= 0 {
		t.TargetName = h.names[r.sel.target]
	}
	for _, c := range r.sel.targets {
		t.TargetNames = append(t.TargetNames, h.names[c])
		t.Targets, t.Missing = append(t.Targets, nil), append(t.Missing, nil)
	}
	if len(r.sel.keep) > 0 {
		t.Keep = make([][]string, len(r.sel.keep))
	}
	if len(r.sel.extra) > 0 {
		t.Extra = make(map[string][]float64)
	}
	if len(r.sel.extraStr) > 0 {
		t.ExtraText = make(map[string][]string)
	}
	return t
}

// append adds the next row to t, skipping dropped rows. It returns io.EOF after the last row.
func (r *Reader) append(t *Table) error {
	for {
		err := r.src.next()
		r.collect()
		if r.ended = err == io.EOF; err != nil {
			return err
		}
		r.rows++
		gap := !r.take(t)
		if r.index != nil {
			r.index.follow(t.X[t.N*t.D:], r.src.place())
		}
		if gap {
			why, err := r.refused()
			if err != nil {
				return err
			}
			if r.gap == nil {
				r.gap = why
			}
			r.gaps++
		}
		if gap && r.opts.Missing == MissingDrop {
			t.truncate(t.N)
			if t.Row == nil {
				t.Row = matrixrows.All(t.N)
			}
			continue
		}
		if r.opts.Missing == MissingMark {
			t.Gap = append(t.Gap, gap)
		}
		t.Line = append(t.Line, r.src.place())
		if t.Row != nil {
			t.Row = append(t.Row, r.rows-1)
		}
		t.N++
		return nil
	}
}

// take appends the values of the current row to t and reports whether all of them are valid.
func (r *Reader) take(t *Table) bool {
	ok := true
	for i, c := range r.sel.features {
		v, f := r.cells[i].read(r.src, c)
		ok, r.faults[i] = ok && f == nil, f
		if r.encoded == nil {
			t.X = append(t.X, v)
		} else {
			t.X = r.encoded[i].Append(t.X, v)
		}
	}
	if c := r.sel.target; c >= 0 {
		v, isNumber := r.src.number(c)
		if !isNumber && r.opts.NoTarget {
			r.notes = append(r.notes, fmt.Sprintf("left out the target: %v", r.src.badCell(c)))
			t.Y, t.TargetName, r.sel.target = nil, "", -1
		} else {
			ok = ok && isNumber
			t.Y = append(t.Y, v)
		}
	}
	for k, c := range r.sel.targets {
		v, isNumber := r.src.number(c)
		missing := !isNumber && r.src.missing(c)
		if missing {
			v = math.NaN()
		}
		ok = ok && (isNumber || missing)
		t.Targets[k], t.Missing[k] = append(t.Targets[k], v), append(t.Missing[k], missing)
	}
	for i, c := range r.sel.extra {
		v, isNumber := r.src.number(c)
		ok = ok && isNumber
		name := r.opts.Extra[i]
		t.Extra[name] = append(t.Extra[name][:t.N], v)
	}
	for i, c := range r.sel.extraStr {
		s := r.src.label(c)
		ok = ok && s != ""
		name := r.opts.ExtraText[i]
		t.ExtraText[name] = append(t.ExtraText[name][:t.N], s)
	}
	for i, c := range r.sel.keep {
		s := r.src.text(c)
		if t.N > 0 && s == t.Keep[i][t.N-1] {
			s = t.Keep[i][t.N-1] // long runs of one text take its memory once
		}
		t.Keep[i] = append(t.Keep[i][:t.N], s)
	}
	return ok
}

// refused classifies a row that take refused: it returns the gap if the row may be
// dropped, and an error otherwise. Of several bad cells, the leftmost counts.
func (r *Reader) refused() (gap *Error, err error) {
	first, firstGap, messages := math.MaxInt, math.MaxInt, map[int]string{}
	firstMissing := false
	look := func(c int, isGap bool) {
		switch {
		case isGap && r.opts.Missing != MissingError:
			firstGap = min(firstGap, c)
		case c < first:
			first, firstMissing = c, isGap
		}
	}
	for i, f := range r.faults {
		if c := r.sel.features[i]; f != nil {
			look(c, f.gap)
			messages[c] = f.msg
		}
	}
	for _, c := range r.numeric {
		if _, ok := r.src.number(c); !ok {
			missing := r.src.missing(c)
			if !missing || !slices.Contains(r.sel.targets, c) {
				look(c, missing)
			}
		}
	}
	for _, c := range r.sel.extraStr {
		if r.src.label(c) == "" {
			look(c, true)
		}
	}
	if first < math.MaxInt {
		err := r.why(first, messages[first])
		if r.opts.ByName && r.opts.Columns == nil && !firstMissing && !strings.Contains(err.Msg, "option ") {
			err.Msg += "; write it as in the table of the model, or as NA if it is missing"
		}
		switch {
		case firstMissing:
			err.Msg += " (option missing drop leaves out such rows)"
			if h := r.src.begun(); r.rows == 1 && first > 0 && first < len(h.blank) && h.blank[first] {
				err.Msg += "; the column has no name: option exclude leaves it out"
			}
		case r.rows == 1 && !brokenNumber(r.src.label(first)): // the column holds texts
			r.explainTarget(err)
		}
		return nil, err
	}
	return r.why(firstGap, messages[firstGap]), nil
}

// why returns the error in a cell of the current row, in the words of the source without a message.
func (r *Reader) why(c int, msg string) *Error {
	if msg != "" {
		return r.src.errorAt(c, msg)
	}
	return r.src.badCell(c)
}

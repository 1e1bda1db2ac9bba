// Package table reads tables of numbers from files. [Read] returns one as a whole:
//
//	t, err := table.Read("data.csv", table.Options{Target: "price"})
//
// t.X has the inputs, row-major, and t.Y the outputs. [Open] returns a [Reader] for tables that
// need not be in memory as a whole, and [ReadMask] reads which rows are held out.
//
// The package reads text: CSV in its usual dialects, tab- and semicolon-separated files,
// columns of numbers separated by blanks, and JSON lines, plain or gzip-compressed. It also reads
// NumPy's arrays and archives of arrays, and several files of one format as one table.
// Options.Formats adds other formats, such as Parquet from package formats. The results are
// finite float64 numbers and, if the caller selects them, labels. Anything else is an
// [*Error] that names the file, the line or row, and the column. The package can leave
// out rows with missing values and take a random subsample of the rows.
//
// In text, cells may be quoted as in encoding/csv and may have blanks around them. Lines
// end in LF or CRLF, or all of them in CR. Text is UTF-8 unless a byte order mark says UTF-16 or
// Options.TextEncoding says otherwise; bytes that are no text are an error. The package skips blank
// lines and, before the first row, lines that begin with #. A header that is commented out, as some
// programs write it, is a comment.
//
// A NumPy array has one or two dimensions and elements that are real numbers or bool; its
// columns are called x0, x1, …. An archive (.npz) contains one array; or X, and y as the
// last column; or columns.
//
// A file passes these stages: files.go (one or several files, which format) → the format's
// source: text.go (gzip, guess of the separator), encoding.go (to UTF-8), scan.go (bytes to cells, one
// record at a time), header.go and rows.go (header, raggedness) or jsonlines.go for text, npz.go and array.go, or
// format.go → columns.go (which columns to use) → cells.go and learn.go (how to read their
// cells) → reader.go (rows to pieces of a table) → whole.go, index.go and subsample.go (to one table). A format of this
// package implements the interface source, one of another package [FormatRows]. The package
// reads files once, front to back.
package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"gpfit/table/feature"
)

// HeaderMode says whether the first row of a file names the columns.
type HeaderMode string

const (
	// HeaderAuto, or nothing, takes the first row as a header if one of its cells is
	// neither a number nor empty nor a word for a missing value such as NA, or if its cells
	// are nothing, 0, 1 and so on, as pandas writes for an array. The names of selected columns
	// decide if they are there. If the rows below tell against that, such as a first row of whole
	// numbers that rise from left to right above decimals, it is an error that asks for the mode.
	HeaderAuto HeaderMode = "auto"
	// HeaderYes takes the first row as a header, whatever it contains.
	HeaderYes HeaderMode = "yes"
	// HeaderNo takes the first row as data.
	HeaderNo HeaderMode = "no"
)

// MissingMode says how to treat rows with missing values: cells that are empty, NaN,
// NA, null or the like, in a column that is used.
type MissingMode string

const (
	// MissingError, or nothing, treats the first missing value as an error.
	MissingError MissingMode = "error"
	// MissingDrop leaves out rows with missing values and warns with their number. A
	// cell that is not a number for another reason remains an error.
	MissingDrop MissingMode = "drop"
	// MissingMark keeps rows with missing values and marks them in Table.Gap.
	MissingMark MissingMode = "blank"
)

// Options says how to read a file and which of its columns to use. The zero value takes the last
// column as target and all others as features, and detects a header and the cell separator.
//
// Select a column by its name in the header or by its index: 0 is the first column,
// -1 the last. If a column's name is a number, the name takes precedence. Without a
// header the columns are called x0, x1, ….
type Options struct {
	// Target is the column of the outputs y; "" is the last column.
	Target string
	// NoTarget reads a table for prediction, which needs no target; "" then means that there is
	// none. If Target is the name of a column, that column is not a feature, and Y returns it if
	// all its cells are numbers. A table without such a column is valid. Indices do not count here,
	// since such a table usually lacks the target's column.
	NoTarget bool
	// Features are the columns of the inputs X, in this order: names, indices, or
	// ranges of indices that include both ends ("0-3"). Empty means all columns
	// except the target, in the order of the file; [Read] then leaves out first columns that
	// count the rows under the name of an index, such as none or "Unnamed: 0", with a warning.
	Features []string
	// ByName means that all of Features are names, even if they look like indices.
	ByName bool
	// Exclude are columns that are neither features nor the last column that is the target by
	// default: names, indices or ranges. Features excludes it.
	Exclude []string
	// Header says whether the first row names the columns.
	Header HeaderMode
	// Targets are several output columns instead of Target. Their cells may be missing.
	Targets []string
	// Extra are further columns to return as numbers, and ExtraText as labels, besides
	// the features. They are features only if Features lists them, too.
	Extra, ExtraText []string
	// Keep are columns to return as text, whatever else they are used for. Their cells may be empty.
	Keep []string
	// Missing says how to treat rows with missing values.
	Missing MissingMode
	// Subsample is the number of rows to draw at random, in their order, if there are
	// more; 0 takes all. Every set of rows is equally likely. The other rows are read
	// and checked, but take no memory.
	Subsample int
	// Whole marks rows of the source, without a header, that a subsample keeps besides the
	// rows that it draws, such as held-out rows; nil marks none.
	Whole []bool
	// MaxRows, unless 0, is the largest number of rows that a table may have. Reading ends with an
	// [*Error] with TooLarge once there are more. With a subsample, only its rows count.
	MaxRows int
	// Seed is the seed of the subsample.
	Seed uint64
	// Formats are file formats besides text and NumPy's.
	Formats []Format
	// Amend, unless nil, changes the selected columns of o for a table whose columns have
	// the given names.
	Amend func(names []string, o *Options)
	// Text says how the cells of text are written. Its encoding, of text without a byte order mark, has a name that
	// [CheckTextEncoding] knows; empty is UTF-8.
	Text feature.Text
	// SkipLines are lines of text that are no part of the table, such as titles and totals: numbers and ranges, from 1, such as "1-2,40".
	SkipLines string
	// Columns says how [Read] reads feature columns that are not numbers; nil means that
	// all features must be numbers. [Table.Encoding] has the result.
	Columns *feature.Rules
	// Encoding returns how to read the features, if there are that many columns: the
	// encoding of a model. It replaces Columns. Unseen returns the end of the error for a category that a
	// column does not have, "" to accept it with 0 in all indicators or with the code −1; nil accepts none.
	Encoding func(columns int) ([]feature.Coding, error)
	Unseen   func(c feature.Coding) string
	skip     map[int]bool // the lines of rows of text that a survey leaves out
}

// check completes the options whose values are words.
func (o *Options) check() error {
	o.Header, o.Missing = cmp.Or(o.Header, HeaderAuto), cmp.Or(o.Missing, MissingError)
	switch {
	case !slices.Contains([]HeaderMode{HeaderAuto, HeaderYes, HeaderNo}, o.Header):
		return fmt.Errorf("header %q: must be auto, yes or no", o.Header)
	case !slices.Contains([]MissingMode{MissingError, MissingDrop, MissingMark}, o.Missing):
		return fmt.Errorf("option missing: %q must be error, drop or blank", o.Missing)
	case len(o.Features) > 0 && len(o.Exclude) > 0:
		return errors.New("option exclude leaves columns out of all inputs, and option features names the inputs: give one of them")
	}
	if err := o.Text.Check(); err != nil {
		return err
	}
	var err error
	if o.skip, err = o.lines(); err != nil {
		return err
	}
	if err := CheckTextEncoding(o.Text.TextEncoding); err != nil {
		return fmt.Errorf("encoding %s: %w", quote(o.Text.TextEncoding), err)
	}
	return nil
}

// CheckLines returns an error unless text is a list of line numbers and ranges, such as "1-2,40".
func CheckLines(text string) error {
	_, err := (&Options{SkipLines: text}).lines()
	return err
}

// lines returns the lines to skip, with the lines that a survey leaves out.
func (o *Options) lines() (map[int]bool, error) {
	const most = 1 << 20
	all := maps.Clone(o.skip)
	for _, part := range strings.FieldsFunc(o.SkipLines, func(r rune) bool { return r == ',' }) {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 1 || to < from || to-from > most {
			return nil, fmt.Errorf("option skip-lines: %q must be the number of a line or a range such as 1-2", part)
		}
		if all == nil {
			all = map[int]bool{}
		}
		for line := from; line <= to; line++ {
			all[line] = true
		}
	}
	return all, nil
}

// Table is a table of n rows: inputs with d columns and, except for some predictions,
// one output. All numbers are finite, except for the gaps in Targets.
type Table struct {
	// Source is the file's name as given, "-" for standard input.
	Source string
	// X holds the inputs, n×d, row-major.
	X []float64
	// Y holds the n outputs; nil if there is no target.
	Y []float64
	// N and D are the numbers of rows and of feature columns, both at least 1.
	N, D int
	// FeatureNames are the names of X's d columns.
	FeatureNames []string
	// Encoding says how the columns of the source became the features, if Options.Columns
	// asks for it; nil if all are numbers, with decimal points.
	Encoding *feature.Encoding
	// TargetName is the name of Y's column; "" if there is none.
	TargetName string
	// TargetNames are the names of the columns of Targets.
	TargetNames []string
	// Targets holds a column of n outputs for each of Options.Targets; nil if there
	// are none. A missing cell is NaN in Targets and true in Missing.
	Targets [][]float64
	Missing [][]bool
	// Extra holds a column of n numbers for each of Options.Extra, by the name or
	// index given there. ExtraText holds n labels for each of Options.ExtraText. Both
	// are nil if there are none. Labels are never empty.
	Extra     map[string][]float64
	ExtraText map[string][]string
	// Keep holds a column of n texts for each of Options.Keep.
	Keep [][]string
	// Gap says for each row whether it has missing values; its numbers then mean
	// nothing. It is nil without MissingMark.
	Gap []bool
	// Line holds for each row the line of its file, from 1, where it begins. In
	// formats without lines it holds the number of the row, from 1.
	Line []int
	// Row holds the position of each row in the source, from 0; nil if no row of the
	// source is missing. SourceRows is the number of rows in the source. Use both to
	// align other data, such as a mask, with the table.
	Row        []int
	SourceRows int
	// Reading says what was read and what was skipped.
	Reading feature.Reading
	// Warnings holds, in words, what a user should know about this reading, such as a
	// header that looks like data, or a target with gaps that a prediction ignores.
	Warnings []string
}

// Format is a file format besides text and NumPy that [Read] recognizes by its first
// bytes. Package formats has two. Formats do not register themselves; a program
// passes the formats that it needs in [Options].
type Format struct {
	// Name is the name of the format in messages.
	Name string
	// Magics are the beginnings of files of the format, of at most eight bytes each.
	Magics []string
	// Open reads the part of f before the rows. The rows then own f; after an error,
	// the caller still does. Errors in the content are of type [*Error].
	Open func(f *os.File, path string) (FormatRows, error)
}

// FormatRows is an open file of a [Format], read row by row. Columns count from 0. Errors in
// the content are of type [*Error].
type FormatRows interface {
	// Columns returns the columns of the file.
	Columns() []FormatColumn
	// Use selects, before the first row, the columns to read, which are the columns 0, 1, …
	// of the methods below. It returns an error if a column cannot be read so.
	Use(columns []FormatUse) error
	// Next moves to the next row. It returns io.EOF after the last one.
	Next() error
	// Null reports whether column c has no value.
	Null(c int) bool
	// Number returns the value in column c, NaN if it is null or not a number.
	Number(c int) float64
	// Label returns the value in column c if it is a text, a date or a time of day, else "".
	Label(c int) string
	// Progress returns the share of the file that has been read, 0 if unknown.
	Progress() float64
	Close() error
}

// FormatUse is a column of a file to read as a number, as a label, or as both.
type FormatUse struct {
	Column        int
	Number, Label bool
}

// Texter is the ability of [FormatRows] to return the value in column c as text for
// Options.Keep, if that differs from its label: numbers in full, for example.
type Texter interface{ Text(c int) string }

// FormatColumn is a column of a [FormatRows].
type FormatColumn struct {
	Name string
	// Kind is the kind of the values by their type; empty means numbers. Texts are of the
	// kind Category. Labels of dates and times of day are in the forms of package feature.
	Kind feature.ColumnKind
	// Index says that a program stored the index of a table as the column, which is used only if it is selected.
	Index bool
	// Note is a warning about the column, "" for none.
	Note string
}

// Package table reads tables of numbers from files. [Read] returns one as a whole:
//
//	t, err := table.Read("data.csv", table.Options{Target: "price"})
//
// has the inputs in t.X, row-major, and the outputs in t.Y; [Open] returns a [Reader]
// for tables that need not be in memory as a whole, and [ReadMask] reads which rows
// are held out.
//
// It reads text, which is CSV in its usual dialects, tab- and semicolon-separated
// files, and columns of numbers set apart by blanks, plain or gzip-compressed; NumPy's
// arrays and archives of arrays; and several files of one format as one table. Other
// formats are passed in Options.Formats: table/parquet has Parquet's. What comes out is
// finite float64 numbers, and labels where a caller asks for them; whatever else there
// is is an [*Error] that names the file, the line or row, and the column. Rows with
// missing values can be left out, and a random subsample of the rows be taken.
//
// In text, cells may be quoted as encoding/csv reads them and have blanks around
// them; lines end in LF or CRLF; a UTF-8 byte order mark, blank lines and lines
// that begin with # are skipped. A header that is commented out, as some programs
// write it, is a comment.
//
// A NumPy array has one or two dimensions and elements that are real numbers or
// bool; its columns are called x0, x1, …. An archive (.npz) holds one array; or X,
// and y as the last column; or columns.
//
// The path of a file through the package is: files.go (one or several, which format)
// → the format's source: text.go (gzip, BOM, guess of the separator), scan.go
// (bytes to cells, one record at a time) and rows.go (header, raggedness) for
// text, npz.go, arrays.go and array.go, or format.go → columns.go (which columns
// are wanted) → reader.go (rows to a table, or pieces of one) → subsample.go. A
// format of this package implements the interface source in source.go, one of another
// package [FormatRows]. Files are read once, front to back.
package table

// HeaderMode says whether the first row of a file names the columns.
type HeaderMode int

const (
	// HeaderAuto takes the first row as a header if one of its cells is neither
	// a number nor empty nor a word for a missing value such as NA. This is the
	// default.
	HeaderAuto HeaderMode = iota
	// HeaderYes takes the first row as a header, whatever it holds.
	HeaderYes
	// HeaderNo takes the first row as data.
	HeaderNo
)

// MissingMode says what becomes of rows with missing values: cells that are
// empty, NaN, NA, null or the like, in a column that is used.
type MissingMode int

const (
	// MissingError makes an error of the first one. This is the default.
	MissingError MissingMode = iota
	// MissingDrop leaves such rows out; how many there are is a warning. What is
	// no number for another reason stays an error.
	MissingDrop
)

// Options says how a file is read and which of its columns are taken. The zero
// value takes the last column as target and all others as features, finds out
// by itself whether there is a header and what separates the cells.
//
// A column is given by its name in the header or by its index: 0 is the first
// column, -1 the last. A column whose name happens to be a number is found by
// its name first. Without a header the columns are called x0, x1, ….
type Options struct {
	// Target is the column of the outputs y; "" is the last one.
	Target string
	// NoTarget reads a table to predict for: no target is needed, "" means that
	// there is none. If Target is the name of a column, that column is left out
	// of the features, and returned as Y if all its cells are numbers; a table
	// without such a column is no error. Indices are not looked up here, since
	// the target's column is usually gone from such a table.
	NoTarget bool
	// Features are the columns of the inputs X, in this order: names, indices,
	// or ranges of indices, both ends included ("0-3"). Empty is all columns but
	// the target, in the order of the file.
	Features []string
	// Header says whether the first row names the columns.
	Header HeaderMode
	// Targets are several outputs, in place of Target. Their cells may be missing.
	Targets []string
	// Extra are further columns of numbers, and ExtraText of labels, that are
	// returned beside the features. They are no features unless Features lists
	// them, too.
	Extra, ExtraText []string
	// Missing says what becomes of rows with missing values.
	Missing MissingMode
	// Subsample draws that many rows at random, each set of rows as likely as any
	// other, if there are more; 0 takes all. Their order stays. The rows that are
	// not drawn are read and checked, but take no memory.
	Subsample int
	// MaxRows, unless 0, is the most rows that a table may have: reading ends with a
	// [*TooLargeError] once there are more. A subsample counts, not what it is drawn from.
	MaxRows int
	// Seed is that of the subsample.
	Seed uint64
	// Formats are further formats of files, beside text and NumPy's.
	Formats []Format
	// Comma separates the cells; ' ' stands for runs of blanks and tabs. 0 is a
	// guess from the first lines: semicolon, comma, tab or blanks.
	Comma rune
}

// Table is a table of n rows: inputs with d columns and, but for some
// predictions, one output. All numbers are finite, but for the gaps in Targets.
type Table struct {
	// Source is the file's name as given, "-" for standard input.
	Source string
	// X holds the inputs, n×d, row-major.
	X []float64
	// Y holds the n outputs; nil if there is no target.
	Y []float64
	// N and D are the numbers of rows and of feature columns, both at least 1.
	N, D int
	// FeatureNames are the d names of X's columns.
	FeatureNames []string
	// TargetName is the name of Y's column; "" if there is none.
	TargetName string
	// TargetNames are the names of the columns of Targets.
	TargetNames []string
	// Targets holds a column of n outputs for each of Options.Targets, NaN where
	// Missing says that the cell is missing; nil if there are none.
	Targets [][]float64
	Missing [][]bool
	// Extra holds a column of n numbers for each of Options.Extra, by the name or
	// index given there, and ExtraText of n labels for each of Options.ExtraText;
	// nil if there are none. Labels are never empty.
	Extra     map[string][]float64
	ExtraText map[string][]string
	// Line holds for each row the line of its file, from 1, where it begins; in
	// formats without lines the number of the row, from 1.
	Line []int
	// Row holds for each row its place in the source, from 0; nil if every row of
	// the source is there. SourceRows is how many the source has. They are for
	// what goes with the table row by row, such as a mask.
	Row        []int
	SourceRows int
	// Warnings tells, in words, what a user should know about this reading: a
	// header that looks like data, a target with gaps left out of a prediction.
	Warnings []string
}

package output

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/term"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit/columns"
	"gpfit/fit/fields"
	"gpfit/internal/atomicfile"
	"gpfit/internal/each"
	"gpfit/internal/textform"
	"gpfit/option"
)

// FileFormat is the format of a file with results.
type FileFormat string

// The formats. JSON is one object with all results, JSONLines one object for each row.
const (
	CSV       FileFormat = "csv"
	JSONLines FileFormat = "jsonl"
	JSON      FileFormat = "json"
	Parquet   FileFormat = "parquet"
	NPY       FileFormat = "npy"
	NPZ       FileFormat = "npz"
)

// Tables returns the formats of tables, which the flag --format of a command takes.
func Tables() []FileFormat { return []FileFormat{CSV, JSONLines, JSON, Parquet, NPY} }

// endings are the endings of file names for the formats. Text may be compressed, with
// a further .gz; the binary formats are not compressed again.
var endings = map[FileFormat][]string{
	CSV: {".csv"}, JSONLines: {".jsonl", ".ndjson"}, JSON: {".json"}, Parquet: {".parquet"}, NPY: {".npy"}, NPZ: {".npz"},
}

func (f FileFormat) binary() bool { return f == Parquet || f == NPY || f == NPZ }

// File is a file for results in one of several formats.
type File struct {
	// Path is the value of --out, "" for standard output.
	Path   string
	Format FileFormat
	gzip   bool
	// columns are the names of the columns of an NPY file, which cannot hold them.
	columns []string
}

// naming is an encoder that tells the file the names of its columns.
type naming struct {
	columns.BlockEncoder
	file *File
}

func (e naming) Encode(b *columns.Block) error {
	e.file.columns = b.Names
	return e.BlockEncoder.Encode(b)
}

// Choose returns the file for --out, whose name gives the format unless --format or
// --json gives it. The formats of the command are known, the first of them the default
// on standard output. A name that contradicts the format, or has an unknown ending, is an error.
func Choose(out, format string, asJSON bool, known ...FileFormat) (*File, error) {
	f := &File{Path: out, Format: FileFormat(format)}
	if f.Format != "" && !slices.Contains(known, f.Format) {
		return nil, exit.Usagef("--format %s: must be %s", textform.Quote(string(format)), option.OrList(known))
	}
	if f.OnStdout() {
		if asJSON && f.Format != "" && f.Format != JSON {
			return nil, exit.Usagef("--json and --format %s: give only one of them, or a file with --out for the table", f.Format)
		}
		return f.orDefault(asJSON, known), nil
	}
	name := strings.ToLower(filepath.Base(out))
	plain := strings.TrimSuffix(name, ".gz")
	named := formatOf(plain)
	f.gzip = plain != name
	switch {
	case named != "" && !slices.Contains(known, named), named == "" && f.Format == "" && !asJSON:
		return nil, exit.Usagef("--out %s: the name must end in %s, which gives the format%s", out, option.OrList(endingsOf(known)), orFormat(known))
	case named != "" && f.Format != "" && named != f.Format:
		return nil, exit.Usagef("--out %s: the name says %s, but --format says %s", out, named, f.Format)
	case named != "":
		f.Format = named
	}
	f.orDefault(asJSON, known)
	if f.gzip && f.Format.binary() {
		return nil, exit.Usagef("--out %s: %s files are not compressed again; leave out .gz", out, f.Format)
	}
	return f, nil
}

// Beside is [Choose] for a table beside the report of a command, to which --json belongs. It returns nil
// without a path.
func Beside(out, format string, known ...FileFormat) (*File, error) {
	if out == "" {
		return nil, nil
	}
	return Choose(out, format, false, known...)
}

// CheckTerminal returns an error if a binary format would go to a terminal. out is the path of the file, ""
// for standard output.
func CheckTerminal(stdout io.Writer, out string, format FileFormat) error {
	if to, ok := stdout.(interface{ Fd() uintptr }); ok && format.binary() && out == "" && term.IsTerminal(int(to.Fd())) {
		return exit.Usagef("--format %s cannot go to a terminal: give --out FILE", format)
	}
	return nil
}

func (f *File) orDefault(asJSON bool, known []FileFormat) *File {
	switch {
	case f.Format != "":
	case asJSON:
		f.Format = JSON
	default:
		f.Format = known[0]
	}
	return f
}

// formatOf returns the format that the ending of a name gives, or "".
func formatOf(name string) FileFormat {
	for format, list := range endings {
		if slices.ContainsFunc(list, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			return format
		}
	}
	return ""
}

// endingsOf lists the endings of the formats.
func endingsOf(formats []FileFormat) []string {
	var out []string
	for _, f := range formats {
		for _, ending := range endings[f] {
			out = append(out, ending)
			if !f.binary() {
				out = append(out, ending+".gz")
			}
		}
	}
	return out
}

// orFormat is the advice to give --format, for commands that have it.
func orFormat(known []FileFormat) string {
	if slices.Contains(known, Parquet) || slices.Contains(known, NPZ) {
		return "; or give --format"
	}
	return ""
}

// Compressed returns a function that writes to w what write writes, compressed if the name says so.
func (f *File) Compressed(write func(io.Writer) error) func(io.Writer) error {
	if !f.gzip {
		return write
	}
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	}
}

// OnStdout reports whether the result is on standard output, or in a pipe or device.
func (f *File) OnStdout() bool { return f.Path == "" || atomicfile.IsDirect(f.Path) }

// Table returns a function that writes a table of results, which consists of one piece.
func (f *File) Table(info map[string]any, r columns.TargetColumns) func(io.Writer) error {
	return func(w io.Writer) error {
		t := f.Sheet(w, info)
		if err := t.Add([]columns.TargetColumns{r}); err != nil {
			return err
		}
		return t.End()
	}
}

// Summary prints info as JSON if --json asks for JSON and the result is in a file of
// another format. For NPY files it includes the names of the columns.
func (f *File) Summary(stdout io.Writer, asJSON bool, info map[string]any) error {
	if !asJSON || f.Format == JSON || f.OnStdout() {
		return nil
	}
	info["schema_version"], info["file"], info["format"] = 1, f.Path, f.Format
	if f.columns != nil {
		info["columns"] = f.columns
	}
	return json.NewEncoder(stdout).Encode(info)
}

// Sheet returns a sheet that writes a table of results to w. info holds further members
// of the JSON object.
func (f *File) Sheet(w io.Writer, info map[string]any) *columns.Sheet {
	if f.Format == JSON {
		return columns.NewSheet(w, info)
	}
	return columns.NewTable(f.Encoder(w))
}

// Encoder returns the encoder of the format, for formats other than JSON.
func (f *File) Encoder(w io.Writer) columns.BlockEncoder {
	switch f.Format {
	case JSONLines:
		return columns.NewJSONLines(w)
	case NPY:
		return naming{columns.NewNPY(w), f}
	case Parquet:
		return &parquetEncoder{w: w}
	}
	return columns.NewCSV(w)
}

// parquetEncoder writes a Parquet file: text as strings, numbers as doubles, which are null in blank rows.
type parquetEncoder struct {
	w    io.Writer
	file *parquet.GenericWriter[any] // from the first block on
	rows []parquet.Row
}

func (e *parquetEncoder) Encode(b *columns.Block) error {
	if e.file == nil {
		e.file = parquet.NewGenericWriter[any](e.w, parquet.NewSchema("gpfit", schemaOf(b)), parquet.Compression(&parquet.Snappy))
	}
	text := len(b.Texts)
	for len(e.rows) < b.N {
		e.rows = append(e.rows, make(parquet.Row, text+len(b.Numbers)))
	}
	for i := range b.N {
		row := e.rows[i]
		for c, texts := range b.Texts {
			row[c] = parquet.ByteArrayValue([]byte(texts[i])).Level(0, 0, c)
		}
		for c, values := range b.Numbers {
			if v := values[i]; math.IsNaN(v) {
				row[text+c] = parquet.NullValue().Level(0, 0, text+c)
			} else {
				row[text+c] = parquet.DoubleValue(v).Level(0, 1, text+c)
			}
		}
	}
	_, err := e.file.WriteRows(e.rows[:b.N])
	return err
}

func (e *parquetEncoder) End() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// schemaOf returns the schema of a table with the columns of b, in their order.
func schemaOf(b *columns.Block) parquet.Node {
	g := orderedGroup{Group: parquet.Group{}}
	for _, name := range b.TextNames {
		g.add(name, parquet.String())
	}
	for _, name := range b.Names {
		g.add(name, parquet.Optional(parquet.Leaf(parquet.DoubleType)))
	}
	return g
}

// orderedGroup is a group whose fields keep their order; [parquet.Group] sorts its fields by name.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g *orderedGroup) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.names = append(g.names, name)
}

// Fields implements [parquet.Node].
func (g orderedGroup) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	return each.Of(g.names, func(name string) parquet.Field { return byName[name] })
}

// Floats returns the number at a path of each result, NaN where there is none.
func Floats[T any](results []T, path string) []float64 {
	out := make([]float64, len(results))
	for i := range results {
		out[i] = math.NaN()
		v := reflect.ValueOf(fields.Value(&results[i], path))
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch {
		case v.CanFloat():
			out[i] = v.Float()
		case v.CanInt():
			out[i] = float64(v.Int())
		}
	}
	return out
}

// Texts returns the text at a path of each result.
func Texts[T any](results []T, path string) []string {
	out := make([]string, len(results))
	for i := range results {
		out[i] = fmt.Sprint(fields.Value(&results[i], path))
	}
	return out
}

package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// openPath opens what path names: a file, or a directory or pattern whose files
// make one table.
func openPath(path string, opts Options) (source, error) {
	names, err := Files(path)
	if err != nil {
		return nil, err
	}
	first, format, err := openOne(names[0], opts)
	if err != nil || len(names) == 1 {
		return first, err
	}
	in := &files{source: first, first: first.begun(), names: names, opts: opts, format: format, notes: first.warnings()}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			in.sizes = append(in.sizes, info.Size())
		} else {
			in.sizes = append(in.sizes, 0)
		}
	}
	return in, nil
}

// Files are the files that path names, sorted: itself; or, if it is a
// directory, all in it but those whose names begin with a point or an underscore;
// or those that match it as a pattern.
func Files(path string) ([]string, error) {
	fail := func(msg string, args ...any) ([]string, error) {
		return nil, &Error{Source: path, Msg: fmt.Sprintf(msg, args...)}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []string{path}, nil
	case err != nil && !strings.ContainsAny(path, "*?["):
		return []string{path}, nil // to be opened, which says what is wrong
	case err != nil:
		names, err := filepath.Glob(path)
		if err != nil {
			return fail("not a pattern: %v", err)
		}
		if len(names) == 0 {
			return fail("no file matches")
		}
		slices.Sort(names)
		return names, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fail("%v", err)
	}
	var names []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return fail("holds the directory %s; only files are read", quote(e.Name()))
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return fail("a directory without files")
	}
	return names, nil
}

// ownFormats are the formats of this package that their first bytes tell, beside
// text.
var ownFormats = []struct {
	name, magic string
	open        func(f *os.File, path string) (source, error)
}{
	{"NumPy", npyMagic, openNPY},
	{"NumPy archive", "PK\x03\x04", openNPZ},
}

// openOne opens one file, in the format that its first bytes tell.
func openOne(path string, opts Options) (in source, format string, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, "", err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		begin := make([]byte, 8)
		n, _ := f.ReadAt(begin, 0)
		for _, format := range opts.Formats {
			if bytes.HasPrefix(begin[:n], []byte(format.Magic)) {
				in, err := openFormatted(f, path, format)
				return in, format.Name, err
			}
		}
		for _, format := range ownFormats {
			if bytes.HasPrefix(begin[:n], []byte(format.magic)) {
				in, err := format.open(f, path)
				return in, format.name, err
			}
		}
		if bytes.HasPrefix(begin[:n], []byte(parquetMagic)) {
			f.Close()
			return nil, "", &Error{Source: path, Msg: "a Parquet file: this program was built without package table/parquet, or does not pass its Format in Options.Formats"}
		}
	}
	in, err = openText(f, path, opts)
	return in, "text", err
}

// parquetMagic is how Parquet files begin, which package table/parquet reads.
const parquetMagic = "PAR1"

// files is a table of several files, one after the other. The source is that of
// the current one.
type files struct {
	source
	first   *head
	names   []string
	sizes   []int64
	current int
	rows    int // of the current file so far
	opts    Options
	format  string
	notes   []string
	numbers []int
	labels  []int
}

func (in *files) use(numbers, labels []int) error {
	in.numbers, in.labels = numbers, labels
	return in.source.use(numbers, labels)
}

func (in *files) next() error {
	for {
		err := in.source.next()
		if err == nil {
			in.rows++
		}
		if err != io.EOF {
			return err
		}
		if in.rows == 0 {
			return in.noRows()
		}
		if in.current+1 == len(in.names) {
			return io.EOF
		}
		if err := in.source.close(); err != nil {
			return &Error{Source: in.names[in.current], Msg: err.Error(), Err: err}
		}
		if err := in.open(in.current + 1); err != nil {
			return err
		}
	}
}

// open goes on to file i, which must be of the same kind as the first.
func (in *files) open(i int) error {
	src, format, err := openOne(in.names[i], in.opts)
	if err != nil {
		return err
	}
	in.source, in.current, in.rows = src, i, 0
	in.notes = append(in.notes, src.warnings()...)
	if format != in.format {
		return &Error{Source: in.names[i], Msg: fmt.Sprintf("is of format %s, but %s of format %s", format, in.names[0], in.format)}
	}
	if err := in.first.same(src.begun()); err != nil {
		return err
	}
	return src.use(in.numbers, in.labels)
}

// same is an error unless the columns of another file are those of the first.
func (in *head) same(other *head) error {
	if in.named != other.named {
		has := map[bool]string{true: "a header", false: "no header"}
		return other.selectionError(fmt.Sprintf("has %s, but %s has %s", has[other.named], in.source, has[in.named]))
	}
	for c, name := range other.names {
		switch {
		case c >= len(in.names):
			return other.headError(c, fmt.Sprintf("%s has no such column", in.source))
		case name != in.names[c]:
			return other.headError(c, fmt.Sprintf("%s has %s there", in.source, quote(in.names[c])))
		}
	}
	if c := len(other.names); c < len(in.names) {
		return other.selectionError(fmt.Sprintf("column %d (%s) is missing; it is in %s", c+1, quote(in.names[c]), in.source))
	}
	return nil
}

func (in *files) progress() float64 {
	read, all := 0.0, 0.0
	for i, size := range in.sizes {
		all += float64(size)
		if i < in.current {
			read += float64(size)
		}
	}
	return (read + in.source.progress()*float64(in.sizes[in.current])) / max(all, 1)
}

func (in *files) warnings() []string { return in.notes }

package table

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"gpfit/internal/each"
)

// openZip opens an archive of one text, or of NumPy arrays. The table is the only array; or X with y as its last
// column, and other arrays of one dimension and as many rows as columns that are used if selected;
// or the arrays of one dimension as its columns.
func openZip(f *os.File, name string, opts Options) (source, error) {
	fail := func(format string, args ...any) (source, error) {
		return nil, &Error{Source: name, Msg: fmt.Sprintf(format, args...)}
	}
	info, err := f.Stat()
	if err != nil {
		return fail("%v", err)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fail("the zip archive cannot be read: %v", err)
	}
	if strings.HasPrefix(z.Comment, "gpfit model ") {
		return fail("this is a model, not a table: 'gpfit inspect' shows it")
	}
	z.File = slices.DeleteFunc(z.File, func(f *zip.File) bool { // a folder, or what macOS adds
		return strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/") || path.Base(f.Name) == ".DS_Store"
	})
	if len(z.File) == 1 && !strings.HasSuffix(z.File[0].Name, ".npy") {
		r, err := z.File[0].Open()
		if err != nil {
			return fail("%s: %v", quote(z.File[0].Name), err)
		}
		return openMember(r, z.File[0].UncompressedSize64, f, name, opts)
	}
	var all []*array
	var unread []string
	var closers []io.Closer
	byName := make(map[string]*array)
	for _, entry := range z.File {
		own, isArray := strings.CutSuffix(entry.Name, ".npy")
		if !isArray {
			continue
		}
		a, closer, err := openEntry(entry, info.Size())
		if err != nil {
			unread = append(unread, fmt.Sprintf("%s: %v", quote(own), err))
			continue
		}
		a.name = own
		all, byName[own] = append(all, a), a
		closers = append(closers, closer)
	}
	in, err := arrange(name, all, byName, unread)
	if err != nil {
		for _, c := range closers {
			c.Close()
		}
		return nil, err
	}
	in.files = append(closers, f)
	return in, nil
}

// member is a text of a size in an archive.
type member struct {
	source
	read    *counter
	size    uint64
	archive *os.File
}

func openMember(r io.Reader, size uint64, archive *os.File, path string, opts Options) (source, error) {
	read := &counter{r: r}
	in, err := openRows(read, nil, path, opts)
	if err != nil {
		return nil, err
	}
	return &member{in, read, size, archive}, nil
}

func (m *member) progress() float64 { return float64(m.read.n) / float64(max(m.size, 1)) }

func (m *member) close() error { return m.archive.Close() }

// openEntry opens one array of an archive of size bytes.
func openEntry(entry *zip.File, size int64) (*array, io.Closer, error) {
	// Deflate expands one byte to at most 1032 (zlib.net/zlib_tech.html).
	const ratio = 1032
	if entry.CompressedSize64 > uint64(size) || entry.UncompressedSize64/ratio > entry.CompressedSize64+1 {
		return nil, nil, fmt.Errorf("it claims more bytes than the archive can hold")
	}
	r, err := entry.Open()
	if err != nil {
		return nil, nil, err
	}
	a, err := openArray(r, int64(entry.UncompressedSize64))
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return a, r, nil
}

// arrange makes a table from the arrays of an archive.
func arrange(path string, all []*array, byName map[string]*array, unread []string) (*arrays, error) {
	fail := func(msg string) (*arrays, error) { return nil, &Error{Source: path, Msg: msg} }
	if len(all)+len(unread) == 0 {
		return fail("this is a zip archive (Excel workbooks are, too), not text; export the table as CSV")
	}
	x, y := byName["X"], byName["y"]
	switch {
	case len(all) == 1 && len(unread) == 0:
		return newArrays(path, all), nil
	case x == nil:
		if len(unread) == 0 && !slices.ContainsFunc(all, func(a *array) bool { return a.cols != 1 || a.rows != all[0].rows }) {
			return named(newArrays(path, all), all), nil
		}
		return fail("expected one array, or X and y, or columns with the same number of rows; found " + describe(all, unread))
	case y != nil && (y.cols != 1 || y.rows != x.rows):
		return fail("y must have one column and as many rows as X; found " + describe([]*array{x, y}, nil))
	}
	if i := slices.IndexFunc(unread, func(text string) bool { return strings.HasPrefix(text, `"y"`) }); i >= 0 {
		return fail("array " + unread[i])
	}
	parts, main := []*array{x}, x.cols
	if y != nil {
		parts, main = append(parts, y), main+1
	}
	for _, a := range all {
		if a != x && a != y && a.cols == 1 && a.rows == x.rows {
			parts = append(parts, a)
		}
	}
	in := named(newArrays(path, parts), parts[1:])
	if more := len(in.columns) - main; more > 0 {
		in.aside = slices.Concat(make([]bool, main), slices.Repeat([]bool{true}, more))
	}
	return in, nil
}

// named gives the last columns of a table the names of their arrays.
func named(in *arrays, last []*array) *arrays {
	in.named = true
	from := len(in.columns) - len(last)
	for i, a := range last {
		in.names[from+i] = a.name
	}
	return in
}

// describe lists arrays with their shapes, and the errors of unreadable ones.
func describe(all []*array, unread []string) string {
	list := each.Of(all, func(a *array) string { return fmt.Sprintf("%s (%d×%d)", quote(a.name), a.rows, a.cols) })
	return strings.Join(append(list, unread...), ", ")
}

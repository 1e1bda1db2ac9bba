package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gpfit/internal/userfile"
)

// openPath opens the file that path names, or the files of a directory or pattern as one table.
func openPath(path string, opts Options) (source, error) {
	names, err := Files(path)
	if err != nil {
		return nil, err
	}
	first, format, err := openOne(names[0], opts)
	if err != nil || len(names) == 1 {
		return first, err
	}
	in := &files{source: first, first: first.begun(), names: names, opts: opts, format: format}
	in.sizes = make([]int64, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			in.sizes[i] = info.Size()
		}
	}
	return in, nil
}

// Files returns the files that path names, sorted: path itself if it is a file; all
// files in a directory except files whose names begin with a point or an underscore;
// or the files that match a pattern.
func Files(path string) ([]string, error) {
	fail := func(msg string, args ...any) ([]string, error) {
		return nil, &Error{Source: path, Msg: fmt.Sprintf(msg, args...)}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []string{path}, nil
	case err != nil && !strings.ContainsAny(path, "*?["):
		return []string{path}, nil // opening it will return the error
	case err != nil:
		names, err := filepath.Glob(path)
		if err != nil {
			return fail("not a pattern: %v", err)
		}
		if len(names) == 0 {
			return fail("no file matches the pattern")
		}
		slices.Sort(names)
		return names, nil
	}
	entries, err := userfile.Folder(path)
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
			return fail("contains the directory %s; gpfit reads only files", quote(e.Name()))
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return fail("the directory has no files")
	}
	return names, nil
}

// lacking is the opener for a format that Options.Formats lacks.
func lacking(article, name, magic string) opener {
	return opener{name, []string{magic}, func(_ *os.File, path string) (source, error) {
		return nil, &Error{Source: path, Msg: "this is " + article + " " + name + " file, and Options.Formats has no reader for it"}
	}}
}

// openOne opens one file in the format that its first bytes identify.
func openOne(path string, opts Options) (in source, format string, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, "", err
	}
	chosen := opener{"text", []string{""}, func(f *os.File, path string) (source, error) { return openRows(f, f, path, opts) }}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		begin := make([]byte, 8)
		n, _ := f.ReadAt(begin, 0)
		var formats []opener
		for _, format := range opts.Formats {
			formats = append(formats, format.opener())
		}
		formats = append(formats,
			opener{"NumPy", []string{npyMagic}, openNPY}, opener{"zip archive", []string{zipMagic}, func(f *os.File, path string) (source, error) { return openZip(f, path, opts) }},
			lacking("a", "Parquet", parquetMagic), lacking("an", "Arrow", arrowMagic), chosen)
		i := slices.IndexFunc(formats, func(o opener) bool {
			return slices.ContainsFunc(o.magics, func(m string) bool { return bytes.HasPrefix(begin[:n], []byte(m)) })
		})
		chosen = formats[i]
	}
	if in, err = chosen.open(f, path); err != nil {
		f.Close()
	}
	return in, chosen.name, err
}

// files is a table of several files in sequence.
type files struct {
	source  // the current one
	first   *head
	names   []string
	sizes   []int64
	current int
	rows    int // of the current file so far
	opts    Options
	format  string
	notes   []string // of the files before
	// comments and blanks are the lines skipped there.
	comments, blanks int
	numbers          []int
	labels           []int
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

// open moves to file i, which must have the format and columns of the first.
func (in *files) open(i int) error {
	src, format, err := openOne(in.names[i], in.opts)
	if err != nil {
		return err
	}
	in.notes = append(in.notes, in.source.warnings()...)
	in.comments, in.blanks = in.skipped()
	in.source, in.current, in.rows = src, i, 0
	if format != in.format {
		return &Error{Source: in.names[i], Msg: fmt.Sprintf("has the format %s, but %s has the format %s", format, in.names[0], in.format)}
	}
	if err := in.first.same(src.begun()); err != nil {
		return err
	}
	return src.use(in.numbers, in.labels)
}

// same returns an error unless another file has the same columns as the first.
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

func (in *files) skipped() (comments, blanks int) {
	comments, blanks = in.source.skipped()
	return in.comments + comments, in.blanks + blanks
}

func (in *files) warnings() []string { return slices.Concat(in.notes, in.source.warnings()) }

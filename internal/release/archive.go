package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name       string // with slashes
	text       []byte
	executable bool
}

func (e *entry) mode() int64 {
	if e.executable {
		return 0o755
	}
	return 0o644
}

// writeArchive writes the entries in their order below the folder root, as zip or as
// tar.gz by the archive's name. All have the time at, and no owner, so that the same
// entries give the same bytes.
func writeArchive(w io.Writer, name, root string, at time.Time, entries []entry) error {
	if strings.HasSuffix(name, ".zip") {
		return writeZip(w, root, at, entries)
	}
	return writeTar(w, root, at, entries)
}

func writeTar(w io.Writer, root string, at time.Time, entries []entry) error {
	z := gzip.NewWriter(w) // its header has neither name nor time
	t := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(root, e.name), Size: int64(len(e.text)), Mode: e.mode(), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func writeZip(w io.Writer, root string, at time.Time, entries []entry) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: path.Join(root, e.name), Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(fs.FileMode(e.mode()))
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.text); err != nil {
			return err
		}
	}
	return z.Close()
}

// readArchive returns the entries of an archive, without the folder root.
func readArchive(name, root string, text []byte) ([]entry, error) {
	if strings.HasSuffix(name, ".zip") {
		return readZip(root, text)
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if entries, err = addEntry(entries, root, h.Name, h.Mode&0o100 != 0, t); err != nil {
			return nil, err
		}
	}
}

func readZip(root string, text []byte) ([]entry, error) {
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		if entries, err = addEntry(entries, root, f.Name, f.Mode()&0o100 != 0, r); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func addEntry(entries []entry, root, name string, executable bool, r io.Reader) ([]entry, error) {
	below, ok := strings.CutPrefix(name, root+"/")
	if !ok {
		return nil, fmt.Errorf("%s is not below the folder %s", name, root)
	}
	text, err := io.ReadAll(r)
	return append(entries, entry{name: below, text: text, executable: executable}), err
}

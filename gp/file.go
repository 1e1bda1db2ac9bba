package gp

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"gpfit/device"
	"gpfit/internal/atomicfile"
)

// SchemaVersion is the newest version of the model file. This package reads all earlier
// versions, too. Version 2 adds general mean functions and noise that differs from row to
// row, which a reader of version 1 would ignore. Version 3 adds the encoding of columns
// that are not numbers. Version 4 adds draws of the parameters, with which predictions are
// made. Version 5 adds local experts, version 6 experts with parameters of their own. A model
// has the oldest version that has all its parts; older programs read it.
const SchemaVersion = 6

// version returns the oldest version of the model file that has all parts of the model.
func (m *Model) version() int {
	switch {
	case m.Locals != nil:
		return SchemaVersion
	case m.Experts != nil:
		return 5
	case m.Draws != nil:
		return 4
	case m.Encoding != nil:
		return 3
	}
	return 2
}

// A model file is a NumPy .npz archive: an uncompressed zip file of X.npy, y.npy,
// alpha.npy, noise.npy if the noise differs between rows, rows.npy if the training
// rows are not all rows of a table, factor.npy on request, model.json, and fit.json, which
// says how the model was fitted and which readers of it need not know. Its zip
// comment is this text and the SHA-256 of everything before the checksum's digits,
// which detects a change of any byte.
const commentPrefix = "gpfit model sha256 "

// FileError reports a model file that cannot be used.
type FileError struct {
	Path, Msg string
	Err       error
}

func (e *FileError) Error() string {
	var at *fs.PathError
	switch {
	case errors.As(e.Err, &at) && at.Path == e.Path:
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Msg, at.Err)
	case e.Err != nil:
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Msg, e.Err)
	}
	return e.Path + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

type fileHeader struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"`
	N             int    `json:"n"`
	*Model
}

// Save writes the model to path. If it fails, it leaves no partial file.
func (m *Model) Save(path string) error { return save(path, m.Write) }

// Write writes the model in the format of a model file.
func (m *Model) Write(w io.Writer) error { return m.writeValid(w, nil) }

// SaveWithFactor writes the model together with the Cholesky factor, 8n² bytes,
// so that a later Condition need not compute it.
//
// Errors are [*FileError], and [*device.UnsupportedError] if the posterior's method
// has no factor.
func (p *Posterior) SaveWithFactor(path string) error { return save(path, p.WriteWithFactor) }

// WriteWithFactor writes the model with the Cholesky factor in the format of a
// model file.
func (p *Posterior) WriteWithFactor(w io.Writer) error {
	factor, err := device.Capability[device.FactorStore](p.ws, "the Cholesky factor for a model file")
	if err != nil {
		return err
	}
	return p.whole.writeValid(w, factor)
}

func save(path string, write func(io.Writer) error) error {
	if err := atomicfile.Write(context.Background(), path, write); err != nil {
		return &FileError{Path: path, Msg: "cannot write the model", Err: err}
	}
	return nil
}

// writeValid writes the model unless it could not be read back.
func (m *Model) writeValid(w io.Writer, factor device.FactorStore) error {
	if err := m.validate(); err != nil {
		return fmt.Errorf("gp: model to save: %w", err)
	}
	return m.write(w, factor, m.version())
}

func (m *Model) write(w io.Writer, factor device.FactorStore, version int) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	sum := newChecksumWriter(buffered)
	if err := m.writeArchive(sum, factor, version); err != nil {
		return err
	}
	if err := sum.finish(); err != nil {
		return err
	}
	return buffered.Flush()
}

func (m *Model) writeArchive(w io.Writer, factor device.FactorStore, version int) error {
	z := zip.NewWriter(w)
	if err := z.SetComment(emptyComment); err != nil {
		return err
	}
	n, d := m.N(), len(m.Columns)
	text, err := json.MarshalIndent(fileHeader{SchemaVersion: version, Type: "gpfit model", N: n, Model: m}, "", "  ")
	if err != nil {
		return err
	}
	entry, err := z.CreateHeader(&zip.FileHeader{Name: "model.json", Method: zip.Store})
	if err != nil {
		return err
	}
	if _, err := entry.Write(text); err != nil {
		return err
	}
	if err := m.writeRecord(z); err != nil {
		return err
	}
	type array struct {
		name   string
		shape  []int
		values []float64
	}
	shape := []int{n}
	if m.Targets != nil {
		shape = []int{m.T(), n} // a row for each target
	}
	arrays := []array{{"X", []int{n, d}, m.X}, {"y", shape, m.Y}, {"alpha", shape, m.Alpha}}
	if m.TrainNoise != nil {
		arrays = append(arrays, array{"noise", []int{n}, m.TrainNoise})
	}
	if m.Rows != nil {
		arrays = append(arrays, array{"rows", []int{n}, m.Rows})
	}
	for _, array := range arrays {
		entry, err := createArray(z, array.name, array.shape)
		if err == nil {
			err = writeFloats(entry, array.values)
		}
		if err != nil {
			return err
		}
	}
	if factor != nil {
		if err := writeFactor(z, n, factor); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeRecord writes the record of the fit, if there is one.
func (m *Model) writeRecord(z *zip.Writer) error {
	if m.Record == nil {
		return nil
	}
	entry, err := z.CreateHeader(&zip.FileHeader{Name: recordEntry, Method: zip.Store})
	if err == nil {
		_, err = entry.Write(m.Record)
	}
	return err
}

// recordEntry is the name of the record of the fit in a model file.
const recordEntry = "fit.json"

// createArray creates an archive entry in NumPy's format, float64 in C order.
func createArray(z *zip.Writer, name string, shape []int) (io.Writer, error) {
	entry, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	_, err = entry.Write(npyHeader(shape))
	return entry, err
}

// factorRows is the number of rows of L that are copied at a time.
const factorRows = 64

func writeFactor(z *zip.Writer, n int, factor device.FactorStore) error {
	entry, err := createArray(z, "factor", []int{n, n})
	if err != nil {
		return err
	}
	rows := make([]float64, factorRows*n)
	for r0 := 0; r0 < n; r0 += factorRows {
		r1 := min(r0+factorRows, n)
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return err
		}
		if err := writeFloats(entry, rows[:(r1-r0)*n]); err != nil {
			return err
		}
	}
	return nil
}

// checksumWriter hashes and passes on everything except the last 64 bytes, the
// place of the checksum's digits.
type checksumWriter struct {
	w    io.Writer
	hash hash.Hash
	tail []byte
}

func newChecksumWriter(w io.Writer) *checksumWriter { return &checksumWriter{w: w, hash: sha256.New()} }

// emptyComment is the comment with a placeholder for the checksum.
var emptyComment = commentPrefix + strings.Repeat("0", sha256.Size*2)

func (c *checksumWriter) Write(p []byte) (int, error) {
	const keep = sha256.Size * 2
	c.tail = append(c.tail, p...)
	if pass := len(c.tail) - keep; pass > 0 {
		c.hash.Write(c.tail[:pass])
		if _, err := c.w.Write(c.tail[:pass]); err != nil {
			return 0, err
		}
		c.tail = append(c.tail[:0], c.tail[pass:]...)
	}
	return len(p), nil
}

func (c *checksumWriter) finish() error {
	_, err := io.WriteString(c.w, hex.EncodeToString(c.hash.Sum(nil)))
	return err
}

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
	"gpfit/gp/npy"
	"gpfit/internal/atomicfile"
)

// SchemaVersion is the newest version of the model file. This package reads all earlier
// versions, too. Version 2 adds general mean functions and noise that differs from row to
// row, which a reader of version 1 would ignore. Version 3 adds the encoding of columns
// that are not numbers. Version 4 adds draws of the parameters, with which predictions are
// made. Version 5 adds local experts, version 6 had experts with parameters of their own, which this
// package reads no more, and version 7 adds transforms of the target, and weights with draws, whose noise an older program would not divide by
// them. Version 8 adds the share of observations that do not fit, version 9 draws of a second model, and version 10
// transforms of columns and the error of a method with a bound. A model has the oldest version that has all its parts; older programs
// read it.
const SchemaVersion = 10

// A model file is a NumPy .npz archive: an uncompressed zip file of X.npy, y.npy, alpha.npy,
// noise.npy if the noise differs between rows, rows.npy if the training rows are not all rows of
// a table, factor.npy on request, model.json, fit.json, which says how the model was fitted
// and which readers of it need not know, and seal.txt. Its zip comment is this text and the SHA-256 of
// everything before the checksum's digits, which detects a change of any byte.
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
	// Experts is the state of the method of that name, the only one that keeps one. Locals are the parameters that
	// its parts once had of their own.
	Experts json.RawMessage `json:"experts,omitempty"`
	Locals  json.RawMessage `json:"locals,omitempty"`
}

// stateful is the method whose state a file has.
const stateful = "experts"

// Save writes the model to path. If it fails, it leaves no partial file.
func (m *Model) Save(path string) error { return save(path, m.Write) }

// Write writes the model in the format of a model file.
func (m *Model) Write(w io.Writer) error { return newHeader(m).writeValid(w, nil) }

func save(path string, write func(io.Writer) error) error {
	if err := atomicfile.Write(context.Background(), path, write); err != nil {
		return &FileError{Path: path, Msg: "cannot write the model", Err: err}
	}
	return nil
}

// writeValid writes the model unless it could not be read back.
func (h *fileHeader) writeValid(w io.Writer, factor device.FactorStore) error {
	if err := h.Validate(); err != nil {
		return fmt.Errorf("gp: model to save: %w", err)
	}
	return h.write(w, factor)
}

// newHeader returns the header of the model's file, in the oldest version that has all parts of the model.
func newHeader(m *Model) *fileHeader {
	h := &fileHeader{SchemaVersion: 2, Type: "gpfit model", N: m.N(), Model: m}
	if m.State.Method == stateful {
		h.Experts = json.RawMessage(m.State.Text)
	}
	switch {
	case m.Scaling.XTransforms != nil || m.Approximation != nil:
		h.SchemaVersion = SchemaVersion
	case m.Draws != nil && m.Draws.Kernel != "":
		h.SchemaVersion = 9
	case m.Noise.OutlyingShare > 0:
		h.SchemaVersion = 8
	case m.Scaling.Transform != nil, m.Noise.WeightColumn != "" && m.Draws != nil:
		h.SchemaVersion = 7
	case m.State.Method != "":
		h.SchemaVersion = 5
	case m.Draws != nil:
		h.SchemaVersion = 4
	case m.Encoding != nil:
		h.SchemaVersion = 3
	}
	return h
}

// write writes the file, with the checksum at its end.
func (h *fileHeader) write(w io.Writer, factor device.FactorStore) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	sum := newChecksumWriter(buffered)
	if err := h.writeArchive(sum, factor); err != nil {
		return err
	}
	if err := sum.finish(); err != nil {
		return err
	}
	return buffered.Flush()
}

func (h *fileHeader) writeArchive(w io.Writer, factor device.FactorStore) error {
	z := zip.NewWriter(w)
	if err := z.SetComment(emptyComment); err != nil {
		return err
	}
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = npy.AddText(z, headerEntry, text)
	}
	if err == nil && h.Record != nil {
		err = npy.AddText(z, recordEntry, h.Record)
	}
	if seal := ""; err == nil {
		if seal, err = h.seal(text); err == nil {
			err = npy.AddText(z, sealEntry, []byte(seal))
		}
	}
	for _, a := range h.arrays() {
		if err == nil && !(a.optional && *a.into == nil) {
			err = npy.Add(z, npy.Array{Name: a.name, Shape: a.shape, Values: *a.into})
		}
	}
	if err == nil && factor != nil {
		err = writeFactor(z, h.N, factor)
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// headerEntry, recordEntry and factorEntry are the names of the header of a model file, of the
// record of the fit, and of the Cholesky factor.
const headerEntry, recordEntry, factorEntry = "model.json", "fit.json", "factor.npy"

// modelArray is an array of a model file.
type modelArray struct {
	name     string
	shape    []int
	into     *[]float64
	optional bool
}

// arrays returns the arrays that a file has according to its header; y and alpha have a
// row for each of several targets.
func (h *fileHeader) arrays() []modelArray {
	m, columns := h.Model, []int{h.N}
	if m.Targets != nil {
		columns = []int{m.T(), h.N}
	}
	return []modelArray{
		{"X", []int{h.N, len(m.Columns)}, &m.X, false}, {"y", columns, &m.Y, false}, {"alpha", columns, &m.Alpha, false},
		{"noise", []int{h.N}, &m.TrainNoise, true}, {"rows", []int{h.N}, &m.Rows, true},
	}
}

// eachBlock calls do for blocks of the rows first … n−1 of a factor of n rows, with room
// for the numbers of a block.
func eachBlock(first, n int, do func(rows []float64, r0, r1 int) error) error {
	const size = 64
	rows := make([]float64, size*n)
	for r0 := first; r0 < n; r0 += size {
		if err := do(rows, r0, min(r0+size, n)); err != nil {
			return err
		}
	}
	return nil
}

func writeFactor(z *zip.Writer, n int, factor device.FactorStore) error {
	entry, err := npy.Entry(z, factorEntry)
	if err == nil {
		_, err = entry.Write(npy.Header([]int{n, n}))
	}
	if err != nil {
		return err
	}
	return eachBlock(0, n, func(rows []float64, r0, r1 int) error {
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return err
		}
		return npy.WriteFloats(entry, rows[:(r1-r0)*n])
	})
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

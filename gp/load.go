package gp

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
	"gpfit/mean"
)

// Load reads a model file and checks that it is complete and unchanged. It reads the factor, if
// the file has one, only when it is needed. The caller must pass the custom kernels that the model
// names. Errors are [*FileError].
func Load(path string, kernels ...*kernel.Family) (*Model, error) {
	m, _, err := Inspect(path, kernels...)
	return m, err
}

// FileInfo describes a model file.
type FileInfo struct {
	// Bytes is the size, SHA256 the checksum in the file, over all bytes before it.
	Bytes  int64
	SHA256 string
	// SchemaVersion is the version of the form; see [SchemaVersion].
	SchemaVersion int
	// Factor says that the file has the Cholesky factor.
	Factor bool
}

// Inspect reads a model file as [Load] does, and describes the file.
func Inspect(path string, kernels ...*kernel.Family) (m *Model, info *FileInfo, err error) {
	// Opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, nil, &FileError{Path: path, Msg: "cannot read the model: it is not a regular file"}
	}
	err = withFile(path, func(f *os.File, size int64) (err error) {
		m, info, err = load(f, size, path, kernels)
		return err
	})
	return m, info, unreadable(path, err)
}

// withFile opens a model file for do, which gets its size.
func withFile(path string, do func(f *os.File, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return do(f, info.Size())
}

// unreadable makes an error with which reading failed a [*FileError].
func unreadable(path string, err error) error {
	var fe *FileError
	if err == nil || errors.As(err, &fe) {
		return err
	}
	return &FileError{Path: path, Msg: "cannot read the model", Err: err}
}

// load reads a model file of size bytes.
func load(r io.ReaderAt, size int64, path string, kernels []*kernel.Family) (*Model, *FileInfo, error) {
	if err := verify(r, size, path); err != nil {
		return nil, nil, err
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, err
	}
	h, err := readHeader(archive, path)
	if err != nil {
		return nil, nil, err
	}
	m, info := h.Model, &FileInfo{Bytes: size, SHA256: strings.TrimPrefix(archive.Comment, commentPrefix), SchemaVersion: h.SchemaVersion}
	m.Kernels = kernels
	if err := h.checkSizes(archive); err != nil {
		return nil, nil, err
	}
	for _, array := range h.arrays() {
		if *array.into, err = readArray(archive, array.name, array.shape); errors.Is(err, os.ErrNotExist) && array.optional {
			continue
		} else if err != nil {
			return nil, nil, err
		}
	}
	if m.Record, err = readRecord(archive); err != nil {
		return nil, nil, err
	}
	if _, err := archive.Open("factor.npy"); err == nil {
		m.factorPath, info.Factor = path, true
	}
	if err := m.validate(); err != nil {
		return nil, nil, &FileError{Path: path, Msg: "the model's parts do not fit together", Err: err}
	}
	return m, info, nil
}

// verify compares the checksum in the file's last bytes with its contents.
func verify(f io.ReaderAt, size int64, path string) error {
	const digits = sha256.Size * 2
	trailer := make([]byte, len(commentPrefix)+digits)
	body := size - digits
	if _, err := f.ReadAt(trailer, max(size-int64(len(trailer)), 0)); err != nil || !strings.HasPrefix(string(trailer), commentPrefix) {
		var magic [4]byte
		if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PK\x03\x04" {
			return &FileError{Path: path, Msg: "the file is truncated, or is not a gpfit model"}
		}
		return &FileError{Path: path, Msg: "not a gpfit model file; 'gpfit fit' writes one"}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, body)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != string(trailer[len(commentPrefix):]) {
		return &FileError{Path: path, Msg: "the file was altered or damaged: its checksum does not match"}
	}
	return nil
}

func readHeader(archive *zip.Reader, path string) (*fileHeader, error) {
	text, err := readText(archive, headerEntry)
	if err != nil {
		return nil, err
	}
	h := &fileHeader{Model: &Model{}}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	if h.SchemaVersion > SchemaVersion || h.SchemaVersion < 1 {
		return nil, &FileError{Path: path, Msg: fmt.Sprintf("the model has schema version %d, but this gpfit reads only versions up to %d: use a newer gpfit", h.SchemaVersion, SchemaVersion)}
	}
	if h.SchemaVersion == 1 {
		if h.Model.Mean, err = upgradeMean(text); err != nil {
			return nil, &FileError{Path: path, Msg: "the model's mean function cannot be read", Err: err}
		}
	}
	return h, nil
}

// readRecord reads the record of the fit; nil if the file has none.
func readRecord(archive *zip.Reader) (json.RawMessage, error) {
	text, err := readText(archive, recordEntry)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err == nil && !json.Valid(text):
		err = errors.New(recordEntry + " is not JSON")
	}
	return text, err
}

func readText(archive *zip.Reader, name string) ([]byte, error) {
	const most = 256 << 20 // bytes
	entry, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	defer entry.Close()
	return io.ReadAll(io.LimitReader(entry, most))
}

// checkSizes compares the numbers of rows and columns in the header with the sizes of the
// entries, which cannot exceed the file, and with the free memory, before any allocation.
func (h *fileHeader) checkSizes(archive *zip.Reader) error {
	if h.N < 1 || len(h.Columns) < 1 {
		return fmt.Errorf("model.json claims %d rows and %d columns", h.N, len(h.Columns))
	}
	need := 0.0
	for _, a := range h.arrays() {
		claimed := 8.0
		for _, s := range a.shape {
			claimed *= float64(s)
		}
		i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == a.name+".npy" })
		switch {
		case i < 0 && a.optional:
			continue
		case i < 0:
			return fmt.Errorf("%s.npy is missing", a.name)
		case archive.File[i].Method != zip.Store || archive.File[i].CompressedSize64 != archive.File[i].UncompressedSize64:
			return fmt.Errorf("%s.npy is compressed", a.name)
		case float64(archive.File[i].UncompressedSize64) < claimed:
			return fmt.Errorf("%s.npy has %d bytes, but model.json claims %.0f", a.name, archive.File[i].UncompressedSize64, claimed)
		}
		need += claimed
	}
	return checkSize(fmt.Sprintf("a model of %d rows and %d columns", h.N, len(h.Columns)), need/8, hostmem.Free())
}

// openNumbers opens an array of the archive, positioned after its header, which
// must be as this package writes it.
func openNumbers(archive *zip.Reader, name string, shape []int) (io.ReadCloser, error) {
	entry, err := archive.Open(name + ".npy")
	if err != nil {
		return nil, err
	}
	want := npyHeader(shape)
	header := make([]byte, len(want))
	if _, err := io.ReadFull(entry, header); err != nil || !bytes.Equal(header, want) {
		entry.Close()
		return nil, fmt.Errorf("%s.npy: not an array of float64 of the shape %v in C order", name, shape)
	}
	return entry, nil
}

func readArray(archive *zip.Reader, name string, shape []int) ([]float64, error) {
	entry, err := openNumbers(archive, name, shape)
	if err != nil {
		return nil, err
	}
	defer entry.Close()
	size := 1
	for _, s := range shape {
		size *= s
	}
	out := make([]float64, size)
	if err := readFloats(entry, out); err != nil {
		return nil, fmt.Errorf("%s.npy: %w", name, err)
	}
	// Reading beyond the last byte verifies the archive's checksum.
	if n, err := entry.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return nil, fmt.Errorf("%s.npy: it has more bytes than its shape needs, or is damaged", name)
	}
	return out, nil
}

// readFactor passes the factor of a model file to a workspace.
func readFactor(path string, n int, factor device.FactorStore) error {
	return withFile(path, func(f *os.File, size int64) error {
		archive, err := zip.NewReader(f, size)
		if err != nil {
			return err
		}
		entry, err := openNumbers(archive, "factor", []int{n, n})
		if err != nil {
			return &FileError{Path: path, Msg: "the factor does not fit the data", Err: err}
		}
		defer entry.Close()
		r := bufio.NewReaderSize(entry, 1<<20)
		return eachBlock(0, n, func(rows []float64, r0, r1 int) error {
			if err := readFloats(r, rows[:(r1-r0)*n]); err != nil {
				return err
			}
			for i := r0; i < r1; i++ {
				row := rows[(i-r0)*n : (i-r0)*n+i+1]
				if firstNonFinite(row) >= 0 || !(row[i] > 0) {
					return &FileError{Path: path, Msg: fmt.Sprintf("row %d of the factor cannot belong to a Cholesky factor", i)}
				}
			}
			return factor.WriteFactor(r0, r1, rows)
		})
	})
}

// version1Mean is the mean in a model file of schema version 1.
type version1Mean struct {
	Columns      []int     `json:"columns"`
	MeanConstant float64   `json:"mean_constant"`
	MeanLinear   []float64 `json:"mean_linear"`
}

// upgradeMean reads the mean function of a version-1 header, whose coefficients were parameters.
func upgradeMean(text []byte) (Mean, error) {
	var old version1Mean
	if err := json.Unmarshal(text, &old); err != nil {
		return Mean{}, err
	}
	m := Mean{Text: "zero"}
	switch {
	case len(old.MeanLinear) > 0 && len(old.MeanLinear) != len(old.Columns):
		return m, fmt.Errorf("linear mean of %d columns for %d", len(old.MeanLinear), len(old.Columns))
	case len(old.MeanLinear) > 0:
		m.Text = "linear"
		for c, label := range old.Columns {
			m.Basis = append(m.Basis, mean.Function{Group: mean.Linear, Column: c, Label: label, Index: 1})
		}
	case old.MeanConstant == 0:
		return m, nil
	default:
		m.Text = "constant"
	}
	m.Basis = append(m.Basis, mean.Function{Group: mean.Constant})
	m.Coefficients = append(append([]float64(nil), old.MeanLinear...), old.MeanConstant)
	return m, nil
}

package gp

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"gpfit/device"
	"gpfit/gp/npy"
	"gpfit/internal/hostmem"
	"gpfit/internal/userfile"
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
	// header is the text of the header, seal what the file has as its seal.
	header, seal string
}

// Inspect reads a model file as [Load] does, and describes the file.
func Inspect(path string, kernels ...*kernel.Family) (m *Model, info *FileInfo, err error) {
	return inspect(path, kernels, nil)
}

// Checksum returns the checksum that a model file has at its end. It reads nothing else: [Check] compares it
// with the contents. Errors are [*FileError].
func Checksum(path string) (sum string, err error) {
	err = withFile(path, func(f io.ReaderAt, size int64) error {
		in, err := newSource(f, size, path)
		if err == nil {
			sum = in.want
		}
		return err
	})
	return sum, unreadable(path, err)
}

// inspect is [Inspect], which passes the factor on as load does.
func inspect(path string, kernels []*kernel.Family, factor func(m *Model, rows io.Reader) error) (m *Model, info *FileInfo, err error) {
	err = withFile(path, func(f io.ReaderAt, size int64) (err error) {
		m, info, err = load(f, size, path, kernels, factor)
		return err
	})
	return m, info, unreadable(path, err)
}

// withFile opens a model file for do, which gets its size. If the system fails to read the file, that is the
// error, whatever do makes of it.
func withFile(path string, do func(f io.ReaderAt, size int64) error) error {
	f, err := userfile.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in := &attentive{ReaderAt: f}
	err = do(in, info.Size())
	if in.failure != nil {
		return unreadable(path, in.failure)
	}
	return err
}

// attentive remembers the first error of the system.
type attentive struct {
	io.ReaderAt
	failure error
}

// ReadAt implements [io.ReaderAt].
func (r *attentive) ReadAt(p []byte, at int64) (n int, err error) {
	n, err = r.ReaderAt.ReadAt(p, at)
	if _, ofSystem := errors.AsType[syscall.Errno](err); ofSystem && r.failure == nil {
		r.failure = err
	}
	return n, err
}

// unreadable makes an error with which reading failed a [*FileError].
func unreadable(path string, err error) error {
	var fe *FileError
	if err == nil || errors.As(err, &fe) {
		return err
	}
	return &FileError{Path: path, Msg: "cannot read the model", Err: err}
}

// load reads a model file of size bytes, every byte of it once. If factor is not nil, it receives
// the model and the rows of the factor, if the file has one.
func load(r io.ReaderAt, size int64, path string, kernels []*kernel.Family, factor func(m *Model, rows io.Reader) error) (*Model, *FileInfo, error) {
	in, err := newSource(r, size, path)
	if err != nil {
		return nil, nil, err
	}
	m, info, err := in.model(kernels, factor)
	// Whatever the damage led to, it is the reason.
	if damage := in.verify(); damage != nil {
		return nil, nil, damage
	}
	return m, info, err
}

// model reads the model, up to its last array or its factor.
func (in *modelSource) model(kernels []*kernel.Family, factor func(m *Model, rows io.Reader) error) (*Model, *FileInfo, error) {
	archive, err := zip.NewReader(in.file, in.size)
	if err != nil {
		return nil, nil, err
	}
	text, err := readText(archive, headerEntry)
	if err != nil {
		return nil, nil, err
	}
	h, err := readHeader(text, in.path)
	if err != nil {
		return nil, nil, err
	}
	m, info := h.Model, &FileInfo{Bytes: in.size, SHA256: in.want, SchemaVersion: h.SchemaVersion, header: string(text)}
	if seal, err := readText(archive, sealEntry); err == nil {
		info.seal = string(seal)
	}
	m.Kernels = kernels
	if err := h.checkSizes(archive); err != nil {
		return nil, nil, err
	}
	if err := in.arrays(archive, h.arrays()); err != nil {
		return nil, nil, err
	}
	if m.Record, err = readRecord(archive); err != nil {
		return nil, nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, nil, &FileError{Path: in.path, Msg: "the model's parts do not fit together", Err: err}
	}
	if entry := find(archive, factorEntry); entry != nil {
		m.factorPath, info.Factor = in.path, true
		if factor != nil {
			err = in.entry(entry, func(rows io.Reader) error { return factor(m, rows) })
		}
	}
	return m, info, err
}

func readHeader(text []byte, path string) (h *fileHeader, err error) {
	h = &fileHeader{Model: &Model{}}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	if h.SchemaVersion > SchemaVersion || h.SchemaVersion < 1 {
		return nil, &FileError{Path: path, Msg: fmt.Sprintf("the model has schema version %d, but this gpfit reads only versions up to %d: use a newer gpfit", h.SchemaVersion, SchemaVersion)}
	}
	if len(h.Locals) > 0 {
		return nil, &FileError{Path: path, Msg: "the model has local experts with parameters of their own, with which this gpfit no longer predicts: fit the table again with 'gpfit fit' and option experts, whose experts share their parameters"}
	}
	if len(h.Experts) > 0 {
		h.Model.State = device.State{Method: stateful, Text: string(h.Experts)}
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
	for _, a := range append(h.arrays(), modelArray{name: "factor", shape: []int{h.N, h.N}, optional: true}) {
		claimed := 8.0
		for _, s := range a.shape {
			claimed *= float64(s)
		}
		entry := find(archive, a.name+".npy")
		switch {
		case entry == nil && a.optional:
			continue
		case entry == nil:
			return fmt.Errorf("%s.npy is missing", a.name)
		case entry.Method != zip.Store || entry.CompressedSize64 != entry.UncompressedSize64:
			return fmt.Errorf("%s.npy is compressed", a.name)
		case float64(entry.UncompressedSize64) != claimed+float64(len(npy.Header(a.shape))):
			return fmt.Errorf("%s.npy has %d bytes, but model.json claims %.0f and a header", a.name, entry.UncompressedSize64, claimed)
		}
		if a.into != nil {
			need += claimed
		}
	}
	return checkSize(fmt.Sprintf("a model of %d rows and %d columns", h.N, len(h.Columns)), need/8, hostmem.Free())
}

// readFactor passes the factor of a model file to a workspace.
func readFactor(path string, n int, factor device.FactorStore) error {
	return withFile(path, func(f io.ReaderAt, size int64) error {
		archive, err := zip.NewReader(f, size)
		if err != nil {
			return err
		}
		entry, err := archive.Open(factorEntry)
		if err != nil {
			return err
		}
		defer entry.Close()
		return eachFactorBlock(path, entry, n, func(rows []float64, r0, r1 int) error { return factor.WriteFactor(r0, r1, rows) })
	})
}

// eachFactorBlock calls do for the rows r0 … r1−1 of a factor of n rows.
func eachFactorBlock(path string, r io.Reader, n int, do func(rows []float64, r0, r1 int) error) error {
	if err := npy.ReadHeader(r, "factor", []int{n, n}); err != nil {
		return &FileError{Path: path, Msg: "the factor does not fit the data", Err: err}
	}
	r = bufio.NewReaderSize(r, 1<<20)
	return eachBlock(0, n, func(rows []float64, r0, r1 int) error {
		if err := npy.ReadFloats(r, rows[:(r1-r0)*n]); err != nil {
			return err
		}
		for i := r0; i < r1; i++ {
			row := rows[(i-r0)*n : (i-r0)*n+i+1]
			if firstNonFinite(row) >= 0 || !(row[i] > 0) {
				return &FileError{Path: path, Msg: fmt.Sprintf("row %d of the factor cannot belong to a Cholesky factor", i)}
			}
		}
		return do(rows, r0, r1)
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

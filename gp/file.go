package gp

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"strings"

	"github.com/sbinet/npyio"

	"gpfit/device"
	"gpfit/internal/atomicfile"
	"gpfit/kernel"
)

// SchemaVersion is the version of the model file that this package writes. It
// reads this one and all before it. Version 2 has general mean functions and
// noise that differs from row to row, which a reader of version 1 would not see.
const SchemaVersion = 2

// A model file is a NumPy .npz archive, an uncompressed zip file of X.npy,
// y.npy, alpha.npy, noise.npy if rows differ, rows.npy if they are not all of a
// table, factor.npy if asked for, and model.json. Its zip comment is
// this text and the SHA-256 of everything before the checksum's digits, so that
// any change of any byte is found.
const commentPrefix = "gpfit model sha256 "

// FileError reports a model file that cannot be used.
type FileError struct {
	Path, Msg string
	Err       error
}

func (e *FileError) Error() string {
	if e.Err != nil {
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

// Save writes the model to path, whole or not at all.
func (m *Model) Save(path string) error { return save(path, m.Write) }

// Write writes the model as its file has it.
func (m *Model) Write(w io.Writer) error { return m.writeValid(w, nil) }

// SaveWithFactor writes the model together with the Cholesky factor, 8n² bytes,
// so that a later Condition need not compute it.
//
// Errors: [*FileError], [*device.UnsupportedError] where the posterior's method has
// no factor.
func (p *Posterior) SaveWithFactor(path string) error { return save(path, p.WriteWithFactor) }

// WriteWithFactor writes the model as its file has it, with the Cholesky factor.
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

// writeValid writes nothing of a model that could not be read back.
func (m *Model) writeValid(w io.Writer, factor device.FactorStore) error {
	if err := m.validate(); err != nil {
		return fmt.Errorf("gp: model to save: %w", err)
	}
	return m.write(w, factor, SchemaVersion)
}

func (m *Model) write(w io.Writer, factor device.FactorStore, version int) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	sum := &checksumWriter{w: buffered, hash: sha256.New()}
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
	if err := z.SetComment(commentPrefix + strings.Repeat("0", sha256.Size*2)); err != nil {
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
			err = binary.Write(entry, binary.LittleEndian, array.values)
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

// createArray begins an entry in NumPy's format, float64 in C order.
func createArray(z *zip.Writer, name string, shape []int) (io.Writer, error) {
	entry, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	_, err = entry.Write(npyHeader(shape))
	return entry, err
}

// factorRows is the number of rows of L that pass through memory at once.
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
		if err := binary.Write(entry, binary.LittleEndian, rows[:(r1-r0)*n]); err != nil {
			return err
		}
	}
	return nil
}

// checksumWriter passes everything on but the last 64 bytes, which stand for
// the checksum's digits, and hashes what it passes.
type checksumWriter struct {
	w    io.Writer
	hash hash.Hash
	tail []byte
}

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

// Load reads a model file and checks that it is whole and unchanged. The
// factor, if the file has one, is read when it is needed. Kernels of the user's
// own that the model names must be given. Errors: [*FileError].
func Load(path string, kernels ...kernel.Custom) (*Model, error) {
	m, err := load(path, kernels)
	if err != nil {
		var fe *FileError
		if errors.As(err, &fe) {
			return nil, err
		}
		return nil, &FileError{Path: path, Msg: "cannot read the model", Err: err}
	}
	return m, nil
}

func load(path string, kernels []kernel.Custom) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := verify(f, path); err != nil {
		return nil, err
	}
	archive, err := openArchive(f)
	if err != nil {
		return nil, err
	}
	m, err := readHeader(archive, path)
	if err != nil {
		return nil, err
	}
	m.Kernels = kernels
	for name, dst := range map[string]*[]float64{"X": &m.X, "y": &m.Y, "alpha": &m.Alpha} {
		if *dst, err = readArray(archive, name); err != nil {
			return nil, err
		}
	}
	for name, dst := range map[string]*[]float64{"noise": &m.TrainNoise, "rows": &m.Rows} {
		if _, err := archive.Open(name + ".npy"); err != nil {
			continue
		}
		if *dst, err = readArray(archive, name); err != nil {
			return nil, err
		}
	}
	if _, err := archive.Open("factor.npy"); err == nil {
		m.factorPath = path
	}
	if err := m.validate(); err != nil {
		return nil, &FileError{Path: path, Msg: "the model's parts do not fit together", Err: err}
	}
	return m, nil
}

// verify compares the checksum in the file's last bytes with its contents.
func verify(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const digits = sha256.Size * 2
	trailer := make([]byte, len(commentPrefix)+digits)
	body := info.Size() - digits
	if _, err := f.ReadAt(trailer, info.Size()-int64(len(trailer))); err != nil || !strings.HasPrefix(string(trailer), commentPrefix) {
		var magic [4]byte
		if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PK\x03\x04" {
			return &FileError{Path: path, Msg: "the file is truncated, or is not a gpfit model"}
		}
		return &FileError{Path: path, Msg: "not a gpfit model file"}
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

func openArchive(f *os.File) (*zip.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return zip.NewReader(f, info.Size())
}

func readHeader(archive *zip.Reader, path string) (*Model, error) {
	entry, err := archive.Open("model.json")
	if err != nil {
		return nil, err
	}
	defer entry.Close()
	text, err := io.ReadAll(entry)
	if err != nil {
		return nil, err
	}
	h := fileHeader{Model: &Model{}}
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	if h.SchemaVersion > SchemaVersion || h.SchemaVersion < 1 {
		return nil, &FileError{Path: path, Msg: fmt.Sprintf("the model has schema version %d, this gpfit reads up to %d: use a newer gpfit", h.SchemaVersion, SchemaVersion)}
	}
	if h.SchemaVersion == 1 {
		if h.Model.Mean, err = upgradeMean(text); err != nil {
			return nil, &FileError{Path: path, Msg: "the model's mean function cannot be read", Err: err}
		}
	}
	return h.Model, nil
}

// openNumbers opens an array of the archive behind its header.
func openNumbers(archive *zip.Reader, name string) (io.ReadCloser, int, error) {
	entry, err := archive.Open(name + ".npy")
	if err != nil {
		return nil, 0, err
	}
	r, err := npyio.NewReader(entry)
	if err != nil {
		entry.Close()
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	size := 1
	for _, s := range r.Header.Descr.Shape {
		size *= s
	}
	if r.Header.Descr.Type != "<f8" || r.Header.Descr.Fortran {
		entry.Close()
		return nil, 0, fmt.Errorf("%s: not an array of float64 in C order", name)
	}
	return entry, size, nil
}

func readArray(archive *zip.Reader, name string) ([]float64, error) {
	entry, size, err := openNumbers(archive, name)
	if err != nil {
		return nil, err
	}
	defer entry.Close()
	raw, err := io.ReadAll(entry)
	if err != nil || len(raw) != 8*size {
		return nil, errors.Join(fmt.Errorf("%s: %d bytes for %d numbers", name, len(raw), size), err)
	}
	out := make([]float64, size)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return out, nil
}

// readFactor passes the factor of a model file to a workspace.
func readFactor(path string, n int, factor device.FactorStore) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	archive, err := openArchive(f)
	if err != nil {
		return err
	}
	entry, size, err := openNumbers(archive, "factor")
	if err != nil {
		return err
	}
	defer entry.Close()
	if size != n*n {
		return &FileError{Path: path, Msg: "the factor does not fit the data"}
	}
	r := bufio.NewReaderSize(entry, 1<<20)
	rows := make([]float64, factorRows*n)
	for r0 := 0; r0 < n; r0 += factorRows {
		r1 := min(r0+factorRows, n)
		if err := binary.Read(r, binary.LittleEndian, rows[:(r1-r0)*n]); err != nil {
			return err
		}
		if err := factor.WriteFactor(r0, r1, rows); err != nil {
			return err
		}
	}
	return nil
}

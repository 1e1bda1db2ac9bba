package gp

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// NPYArray is a named float64 array in C order.
type NPYArray struct {
	Name   string
	Shape  []int
	Values []float64
}

func (a NPYArray) writeEntry(z *zip.Writer) error {
	entry, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
	if err != nil {
		return err
	}
	return a.Write(entry)
}

// Write writes the array as a .npy file, version 1.0 (numpy.lib.format).
func (a NPYArray) Write(w io.Writer) error {
	if _, err := w.Write(npyHeader(a.Shape)); err != nil {
		return err
	}
	return writeFloats(w, a.Values)
}

// WriteNPZ writes arrays as one NumPy archive.
func WriteNPZ(w io.Writer, arrays ...NPYArray) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		if err := a.writeEntry(z); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeFloats writes numbers in blocks, because binary.Write would copy all of
// them.
func writeFloats(w io.Writer, values []float64) error {
	const block = 8192
	buffer := make([]byte, 0, 8*min(block, len(values)))
	for len(values) > 0 {
		buffer = buffer[:0]
		for _, v := range values[:min(block, len(values))] {
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		values = values[len(buffer)/8:]
	}
	return nil
}

// readFloats is the inverse of writeFloats.
func readFloats(r io.Reader, values []float64) error {
	const block = 8192
	buffer := make([]byte, 8*min(block, len(values)))
	for len(values) > 0 {
		buffer = buffer[:8*min(block, len(values))]
		if _, err := io.ReadFull(r, buffer); err != nil {
			return err
		}
		for i := range len(buffer) / 8 {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(buffer[8*i:]))
		}
		values = values[len(buffer)/8:]
	}
	return nil
}

// npyHeader returns the header of a .npy file of float64 in C order, version 1.0
// (numpy.lib.format), padded to a multiple of 64 bytes.
func npyHeader(shape []int) []byte {
	dims := ""
	for _, s := range shape {
		dims += fmt.Sprintf("%d, ", s)
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", dims)
	const preamble = 10
	pad := 63 - (preamble+len(header))%64
	header += strings.Repeat(" ", pad) + "\n"
	prefix := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(prefix, header...)
}

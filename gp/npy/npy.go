// Package npy writes arrays of float64 as files of NumPy, and reads the files that it wrote. Start at [Array].
package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Array is a named float64 array in C order.
type Array struct {
	Name   string
	Shape  []int
	Values []float64
}

// Write writes the array as a .npy file, version 1.0 (numpy.lib.format).
func (a Array) Write(w io.Writer) error {
	if _, err := w.Write(Header(a.Shape)); err != nil {
		return err
	}
	return WriteFloats(w, a.Values)
}

// WriteArchive writes arrays as one NumPy archive.
func WriteArchive(w io.Writer, arrays ...Array) error {
	z := zip.NewWriter(w)
	if err := Add(z, arrays...); err != nil {
		return err
	}
	return z.Close()
}

// Add adds arrays to an archive.
func Add(z *zip.Writer, arrays ...Array) error {
	for _, a := range arrays {
		entry, err := Entry(z, a.Name+".npy")
		if err != nil {
			return err
		}
		if err := a.Write(entry); err != nil {
			return err
		}
	}
	return nil
}

// Entry adds an entry to an archive, which is not compressed.
func Entry(z *zip.Writer, name string) (io.Writer, error) {
	return z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
}

// AddText adds a text to an archive.
func AddText(z *zip.Writer, name string, text []byte) error {
	entry, err := Entry(z, name)
	if err == nil {
		_, err = entry.Write(text)
	}
	return err
}

// floatBlock is the number of numbers that are converted at a time.
const floatBlock = 8192

// WriteFloats writes numbers in blocks, because binary.Write would copy all of them.
func WriteFloats(w io.Writer, values []float64) error {
	var buffer []byte
	for block := range slices.Chunk(values, floatBlock) {
		buffer, _ = binary.Append(buffer[:0], binary.LittleEndian, block) // numbers have no errors
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// ReadFloats is the inverse of [WriteFloats].
func ReadFloats(r io.Reader, values []float64) error {
	buffer := make([]byte, 8*min(floatBlock, len(values)))
	for block := range slices.Chunk(values, floatBlock) {
		if _, err := io.ReadFull(r, buffer[:8*len(block)]); err != nil {
			return err
		}
		_, _ = binary.Decode(buffer, binary.LittleEndian, block) // the buffer has enough bytes
	}
	return nil
}

// ReadHeader reads the header of the array of that name, which must be as this package writes it.
func ReadHeader(r io.Reader, name string, shape []int) error {
	want := Header(shape)
	header := make([]byte, len(want))
	if _, err := io.ReadFull(r, header); err != nil || !bytes.Equal(header, want) {
		return fmt.Errorf("%s.npy: not an array of float64 of the shape %v in C order", name, shape)
	}
	return nil
}

// Read reads an array of that name and shape.
func Read(r io.Reader, name string, shape []int) ([]float64, error) {
	if err := ReadHeader(r, name, shape); err != nil {
		return nil, err
	}
	size := 1
	for _, s := range shape {
		size *= s
	}
	out := make([]float64, size)
	if err := ReadFloats(r, out); err != nil {
		return nil, fmt.Errorf("%s.npy: %w", name, err)
	}
	return out, nil
}

// Header returns the header of a .npy file of float64 in C order, version 1.0
// (numpy.lib.format), padded to a multiple of 64 bytes.
func Header(shape []int) []byte {
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

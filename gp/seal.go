package gp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"gpfit/gp/npy"
)

// sealEntry is the name of the seal of a model file: a SHA-256 of what the header and the arrays
// mean. Names, units, categories, draws and numbers of rows have no equation, so that [Check] compares them by it. Whoever edits a
// text and makes the checksum of the file right leaves the seal as it was.
const sealEntry = "seal.txt"

// seal returns the seal of a model with a header. How a text is laid out makes no difference.
func (h *fileHeader) seal(header []byte) (string, error) {
	sum := sha256.New()
	var v any
	d := json.NewDecoder(bytes.NewReader(header))
	d.UseNumber()
	if err := errors.Join(d.Decode(&v), json.NewEncoder(sum).Encode(v)); err != nil {
		return "", err
	}
	for _, a := range h.arrays() {
		sum.Write(npy.Header([]int{len(*a.into)}))
		if err := npy.WriteFloats(sum, *a.into); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkSeal compares the contents of a model file with its seal.
func (c *checker) checkSeal(info *FileInfo) error {
	seal, err := (&fileHeader{N: c.model.N(), Model: c.model}).seal([]byte(info.header))
	if err == nil && seal != info.seal {
		err = c.wrong("the names, columns, units, categories, kernel, parameters, draws or rows were changed after the file was written: take another copy of the file, or fit again")
	}
	return err
}

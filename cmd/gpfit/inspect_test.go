package main

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"gpfit/internal/must"
)

// withoutRecord returns the contents of a model file except the report of its fit,
// which has seconds.
func withoutRecord(t *testing.T, model []byte) []byte {
	t.Helper()
	archive := must.Get(zip.NewReader(bytes.NewReader(model), int64(len(model))))(t)
	var out []byte
	for _, f := range archive.File {
		if f.Name == "fit.json" {
			continue
		}
		r := must.Get(f.Open())(t)
		text := must.Get(io.ReadAll(r))(t)
		out = append(append(append(out, f.Name...), '\n'), text...)
	}
	return out
}

package gp

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/must"
)

// parts are the entries of a model file; empty ones are omitted.
var parts = []string{"model.json", "X.npy", "y.npy", "alpha.npy", "noise.npy", "rows.npy", "factor.npy"}

// FuzzLoad checks that a file with any entries and a correct checksum is either
// rejected with a [*FileError], or is a model that predicts and, written again,
// reads back unchanged.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.gpfit")
	if err != nil || len(files) < 3 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		e := entries(f, path)
		f.Add(e[0], e[1], e[2], e[3], e[4], e[5], e[6])
		e = entries(f, path)
		f.Add(e[0], e[1], e[2], e[3], e[4], []byte(nil), e[1])
	}
	path := filepath.Join(f.TempDir(), "m.gpfit")
	f.Fuzz(func(t *testing.T, header, x, y, alpha, noise, rows, factor []byte) {
		if len(x)+len(factor) > 1<<16 {
			return // posteriors of so many rows take their time
		}
		must.Do(t, os.WriteFile(path, archive(t, [][]byte{header, x, y, alpha, noise, rows, factor}), 0o600))
		fuzzguard.Run(t, func() { checkLoad(t, path) })
	})
}

// entries returns the entries of a model file.
func entries(t testing.TB, path string) [][]byte {
	z := must.Get(zip.OpenReader(path))(t)
	defer z.Close()
	out := make([][]byte, len(parts))
	for i, name := range parts {
		if e, err := z.Open(name); err == nil {
			if out[i], err = io.ReadAll(e); err != nil {
				t.Fatal(err)
			}
			e.Close()
		}
	}
	return out
}

// archive builds a model file with its checksum.
func archive(t testing.TB, entries [][]byte) []byte {
	var text bytes.Buffer
	z := zip.NewWriter(&text)
	err := z.SetComment(commentPrefix + strings.Repeat("0", 2*sha256.Size))
	for i, entry := range entries {
		if len(entry) == 0 {
			continue
		}
		w, createErr := z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: zip.Store})
		if createErr != nil {
			t.Fatal(createErr)
		}
		_, writeErr := w.Write(entry)
		err = errors.Join(err, writeErr)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	body := text.Bytes()[:text.Len()-2*sha256.Size]
	sum := sha256.Sum256(body)
	return append(body, hex.EncodeToString(sum[:])...)
}

func checkLoad(t *testing.T, path string) {
	m, err := Load(path)
	if err != nil {
		if !errors.As(err, new(*FileError)) {
			t.Fatalf("error %#v", err)
		}
		return
	}
	again := path + ".again"
	if err := m.Save(again); err != nil {
		t.Fatalf("a model that was read cannot be saved: %v", err)
	}
	same, err := Load(again)
	if err != nil {
		t.Fatalf("what was saved cannot be read: %v", err)
	}
	if diff := cmp.Diff(m, same, cmpopts.IgnoreUnexported(Model{}), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("saved and read again: %s", diff)
	}
	checkPredictions(t, m)
}

// checkPredictions checks that a posterior, if there is one, predicts and that
// deviations are not negative.
func checkPredictions(t *testing.T, m *Model) {
	ctx := context.Background()
	if m.N() > 200 || len(m.FeatureNames) > 100 || m.T() > 100 || len(m.Kernel) > 500 {
		return
	}
	p, err := m.Condition(ctx, backend)
	if err != nil {
		return
	}
	defer p.Close()
	rows := make([]float64, 2*len(m.FeatureNames))
	label := ""
	if len(m.Noise.Labels) > 0 {
		label = m.Noise.Labels[0]
	}
	preds, err := p.PredictTargets(ctx, rows, 2, RowNoise{DefaultGroup: label})
	if err != nil {
		return
	}
	for _, pred := range preds {
		if len(pred.Mean) != 2 || pred.Std[0] < 0 || pred.StdLatent[0] < 0 || math.Float64bits(pred.Mean[0]) != math.Float64bits(pred.Mean[1]) && pred.Mean[0] == pred.Mean[0] {
			t.Fatalf("predictions %+v", pred)
		}
	}
}

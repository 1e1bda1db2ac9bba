//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
)

var badSpecs = badText("batch bad.yaml --out new.run", "bad.yaml", exit.Usage,
	[2]string{"data: [t.csv]\nkernels: ['" + strings.Repeat("x", 100_000) + "']\n", "unknown kernel"},
	[2]string{strings.Repeat("[", 20_000), "bad.yaml"},
	[2]string{strings.Repeat("k"+strings.Repeat("y", 1000)+": 1\n", 50), "bad.yaml"},
)

// withChecksum changes the text of an entry of m.gpfit, and possibly its length, and
// gives the file a valid checksum.
func withChecksum(change func(name string, text []byte) []byte) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, "m.gpfit")
		in, err := zip.OpenReader(path)
		if err != nil {
			return err
		}
		defer in.Close()
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range in.File {
			r, err := f.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			entry, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
			if err == nil {
				_, err = entry.Write(change(f.Name, text))
			}
			if err != nil {
				return err
			}
		}
		if err := w.SetComment("gpfit model sha256 " + strings.Repeat("0", 64)); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body := out.Bytes()[:out.Len()-64]
		sum := sha256.Sum256(body)
		return os.WriteFile(path, append(slices.Clone(body), hex.EncodeToString(sum[:])...), 0o644)
	}
}

// inHeader replaces text of model.json.
func inHeader(old, text string) func(dir string) error {
	return withChecksum(func(name string, all []byte) []byte {
		if name == "model.json" {
			return bytes.Replace(all, []byte(old), []byte(text), 1)
		}
		return all
	})
}

// lastNumber replaces the last number of an array.
func lastNumber(array string, bits string) func(dir string) error {
	return withChecksum(func(name string, all []byte) []byte {
		if name == array+".npy" {
			copy(all[len(all)-8:], bits)
		}
		return all
	})
}

const nanBits = "\x00\x00\x00\x00\x00\x00\xf8\x7f"

// onFile changes a file's text.
func onFile(name string, change func([]byte) []byte) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, change(text), 0o644)
	}
}

func cutShort(text []byte) []byte { return text[:len(text)/2] }

func flip(text []byte) []byte {
	text[len(text)/2] ^= 1
	return text
}

// sparse appends a gibibyte of zeros to a file, which take no room on the disk.
func sparse(name string) func(dir string) error {
	return func(dir string) error { return os.Truncate(filepath.Join(dir, name), 1<<30) }
}

var badModels = []badCase{
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: onFile("m.gpfit", cutShort)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"its checksum does not match"}, change: onFile("m.gpfit", flip)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: onFile("m.gpfit", func([]byte) []byte { return nil })},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: sparse("m.gpfit")},
	{args: "predict m.gpfit t.csv --out p.csv", code: exit.Data, want: []string{"m.gpfit: ", "of alpha is NaN"}, change: lastNumber("alpha", nanBits)},
	{args: "loo m.gpfit", code: exit.Data, want: []string{"of X is NaN"}, change: lastNumber("X", nanBits)},
	{args: "export m.gpfit", code: exit.Data, want: []string{"of y is NaN"}, change: lastNumber("y", nanBits)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"Cholesky factor"}, change: lastNumber("factor", nanBits)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"model.json claims"}, change: inHeader(`"n": 6`, `"n": 600000000000`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"model.json claims"}, change: inHeader(`"n": 6`, `"n": -6`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"use a newer gpfit"}, change: inHeader(`"schema_version": 2`, `"schema_version": 9`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`{`, `[`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`"rbf"`, `"rbff"`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`"theta": [`, `"theta": [1, 2, 3, `)},
}

// inDone changes a file of the finished run.
func inDone(name string, change func([]byte) []byte) func(dir string) error {
	return onFile(filepath.Join("done", name), change)
}

// freshRun makes a run from the current files.
func freshRun(dir string) error {
	cmd := exec.Command("gpfit", "batch", "spec.yaml", "--out", "fresh", "--quiet")
	cmd.Dir = dir
	return cmd.Run()
}

var badRuns = []badCase{
	{args: "resume stopped", code: exit.Data, want: []string{"start it again with 'gpfit batch SPEC --out stopped'"}, change: func(dir string) error {
		return os.MkdirAll(filepath.Join(dir, "stopped", "lock"), 0o755)
	}},
	{args: "resume done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inDone("run.json", cutShort)},
	{args: "show done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inDone("run.json", func([]byte) []byte { return []byte("{}") })},
	{args: "show done", code: exit.Data, want: []string{"use a newer gpfit"}, change: inDone("run.json", func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"schema_version": 1`), []byte(`"schema_version": 9`), 1)
	})},
	{args: "report fresh --out t.csv", code: exit.Usage, want: []string{"is also an input"}, change: freshRun},
	{args: "resume fresh", code: exit.Data, want: []string{"changed since the run was made", "--allow-changed"}, change: func(dir string) error {
		return errors.Join(freshRun(dir), onFile("t.csv", cutShort)(dir))
	}},
}

//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

var badSpecs = badText("batch bad.yaml --out new.run", "bad.yaml", exit.Usage,
	[2]string{"data: [t.csv]\nkernels: ['" + strings.Repeat("x", 100_000) + "']\n", "unknown kernel"},
	[2]string{strings.Repeat("[", 20_000), "bad.yaml"},
	[2]string{strings.Repeat("k"+strings.Repeat("y", 1000)+": 1\n", 50), "bad.yaml"},
)

// withChecksum changes the text of an entry of m.gpfit, and possibly its length, and
// gives the file a valid checksum.
func withChecksum(change func(name string, text []byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, "m.gpfit")
		in := testcheck.Get(zip.OpenReader(path))(t)
		defer in.Close()
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range in.File {
			text := testcheck.Get(io.ReadAll(testcheck.Get(f.Open())(t)))(t)
			entry := testcheck.Get(w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store}))(t)
			testcheck.Get(entry.Write(change(f.Name, text)))(t)
		}
		testcheck.Do(t, w.SetComment("gpfit model sha256 "+strings.Repeat("0", 64)), w.Close())
		body := out.Bytes()[:out.Len()-64]
		sum := sha256.Sum256(body)
		write(t, dir, "m.gpfit", string(body)+hex.EncodeToString(sum[:]))
	}
}

// inHeader replaces text of model.json.
func inHeader(old, text string) func(t *testing.T, dir string) {
	return withChecksum(func(name string, all []byte) []byte {
		if name == "model.json" {
			return bytes.Replace(all, []byte(old), []byte(text), 1)
		}
		return all
	})
}

// lastNumber replaces the last number of an array.
func lastNumber(array string, bits string) func(t *testing.T, dir string) {
	return withChecksum(func(name string, all []byte) []byte {
		if name == array+".npy" {
			copy(all[len(all)-8:], bits)
		}
		return all
	})
}

const nanBits = "\x00\x00\x00\x00\x00\x00\xf8\x7f"

// onFile changes a file's text.
func onFile(name string, change func([]byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		write(t, dir, name, string(change(testcheck.Get(os.ReadFile(filepath.Join(dir, name)))(t))))
	}
}

func cutShort(text []byte) []byte { return text[:len(text)/2] }

func flip(text []byte) []byte {
	text[len(text)/2] ^= 1
	return text
}

var badModels = []badCase{
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: onFile("m.gpfit", cutShort)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"its checksum does not match"}, change: onFile("m.gpfit", flip)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: onFile("m.gpfit", func([]byte) []byte { return nil })},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: func(t *testing.T, dir string) {
		testcheck.Do(t, os.Truncate(filepath.Join(dir, "m.gpfit"), 1<<30)) // zeros that take no room on the disk
	}},
	{args: "predict m.gpfit t.csv --out p.csv", code: exit.Data, want: []string{"m.gpfit: ", "of alpha is NaN"}, change: lastNumber("alpha", nanBits)},
	{args: "loo m.gpfit", code: exit.Data, want: []string{"of X is NaN"}, change: lastNumber("X", nanBits)},
	{args: "export m.gpfit", code: exit.Data, want: []string{"of y is NaN"}, change: lastNumber("y", nanBits)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"Cholesky factor"}, change: lastNumber("factor", nanBits)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"model.json claims"}, change: inHeader(`"n": 6`, `"n": 600000000000`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"model.json claims"}, change: inHeader(`"n": 6`, `"n": -6`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"use a newer gpfit"}, change: inHeader(`"schema_version": 2`, `"schema_version": 99`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`{`, `[`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`"rbf"`, `"rbff"`)},
	{args: "predict m.gpfit t.csv", code: exit.Data, want: []string{"m.gpfit: "}, change: inHeader(`"theta": [`, `"theta": [1, 2, 3, `)},
}

// inDone changes a file of the finished run.
func inDone(name string, change func([]byte) []byte) func(t *testing.T, dir string) {
	return onFile(filepath.Join("done", name), change)
}

// inManifests changes both copies of the plan of the finished run.
func inManifests(change func([]byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		inDone("run.json", change)(t, dir)
		inDone("run.copy.json", change)(t, dir)
	}
}

// freshRun makes a run from the current files.
func freshRun(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("gpfit", "batch", "spec.yaml", "--out", "fresh", "--quiet")
	cmd.Dir = dir
	testcheck.Do(t, cmd.Run())
}

var badRuns = []badCase{
	{args: "resume stopped", code: exit.Data, want: []string{"start it again with 'gpfit batch SPEC --out stopped'"}, change: func(t *testing.T, dir string) {
		testcheck.Do(t, os.MkdirAll(filepath.Join(dir, "stopped", "lock"), 0o755))
	}},
	{args: "resume done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inManifests(cutShort)},
	{args: "show done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inManifests(func([]byte) []byte { return []byte("{}") })},
	{args: "show done", code: exit.Data, want: []string{"use a newer gpfit"}, change: inManifests(func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"schema_version": 1`), []byte(`"schema_version": 9`), 1)
	})},
	{args: "report fresh --out t.csv", code: exit.Usage, want: []string{"is also an input"}, change: freshRun},
	{args: "resume fresh", code: exit.Data, want: []string{"changed since the run was made", "--allow-changed"}, change: func(t *testing.T, dir string) {
		freshRun(t, dir)
		onFile("t.csv", cutShort)(t, dir)
	}},
}

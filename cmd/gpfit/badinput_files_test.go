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

const goodSpec = "data: [t.csv]\nkernels: [rbf]\n"

var badSpecs = badText("batch bad.yaml --out new.run", "bad.yaml", exit.Usage,
	[2]string{"", "bad.yaml: must hold one YAML document"},
	[2]string{"\x00\x01", "bad.yaml"},
	[2]string{"data: [t.csv\n", "bad.yaml:1:"},
	[2]string{"data: [t.csv]\n", "names no kernel"},
	[2]string{"kernels: [rbf]\n", "names no data set"},
	[2]string{"- a\n", "bad.yaml:1:"},
	[2]string{goodSpec + "sedes: [1]\n", `bad.yaml:3:1: unknown key "sedes" (did you mean "seeds"?)`},
	[2]string{goodSpec + "defaults: {bounds: {lengthscale: [1, .inf]}}\n", "bad.yaml:3:21: bounds of lengthscale: must be finite"},
	[2]string{goodSpec + "defaults: {bounds: {lengthscale: [.nan, 1]}}\n", "must be finite numbers"},
	[2]string{goodSpec + "defaults: {bounds: {lengthscale: [1]}}\n", "lower < upper"},
	[2]string{goodSpec + "defaults: {set: {lengthscale: .inf}}\n", "must be a finite number"},
	[2]string{goodSpec + "defaults: {fix: {lengthscale: .nan}}\n", "must be a finite number"},
	[2]string{goodSpec + "defaults: {max_jitter: .nan}\n", "must be a nonnegative number"},
	[2]string{goodSpec + "defaults: {restarts: 1000000000000}\n", "must be from 0 to 10000"},
	[2]string{goodSpec + "defaults: {restarts: 99999999999999999999}\n", "bad.yaml:3:"},
	[2]string{goodSpec + "defaults: {threads: 100000}\n", "must be from 0 to 1024"},
	[2]string{goodSpec + "defaults: {retries: -1}\n", "must be from 0 to 1000"},
	[2]string{goodSpec + "defaults: {subsample: -5}\n", "subsample -5"},
	[2]string{goodSpec + "defaults: {memory: 4 parsecs}\n", "not an amount of memory"},
	[2]string{goodSpec + "defaults: {prior: {noise_variance: 'gamma('}}\n", "prior of noise_variance"},
	[2]string{goodSpec + "seeds: [1, 1]\n", "appears twice"},
	[2]string{goodSpec + "seeds: [-1]\n", "bad.yaml:3:"},
	[2]string{goodSpec + "splits: [7]\n", "no data set has a split_mask"},
	[2]string{"data: [{path: t.csv, splits: [7]}]\nkernels: [rbf]\n", "splits need a split_mask"},
	[2]string{"data: [{path: t.csv, split_mask: mask.csv, splits: [z]}]\nkernels: [rbf]\n", `no column "z"; there are m`},
	[2]string{"data: ['-']\nkernels: [rbf]\n", "standard input"},
	[2]string{"data: [t.csv, t.csv]\nkernels: [rbf]\n", "a second data set named"},
	[2]string{"data: [t.csv]\nkernels: ['rbf + mattern32']\n", `did you mean "matern32"`},
	[2]string{"data: [t.csv]\nkernels: ['" + strings.Repeat("x", 100_000) + "']\n", "unknown kernel"},
	[2]string{goodSpec + "exclude: [{data: [t]}]\n", "exclude leaves no job"},
	[2]string{goodSpec + "slurm: {tasks: -1}\n", "must not be negative"},
	[2]string{"a: &a [*a, *a]\n" + goodSpec, "bad.yaml"},
	[2]string{"data: &d [t.csv]\nkernels: [*x]\n", "bad.yaml"},
	[2]string{strings.Repeat("[", 20_000), "bad.yaml"},
	[2]string{"\x1b]0;title\x07: 1\n", "bad.yaml"},
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
	{args: "predict nomodel t.csv", code: exit.Data, want: []string{"nomodel: cannot read the model: no such file"}},
	{args: "predict . t.csv", code: exit.Data, want: []string{".: "}},
	{args: "predict t.csv t.csv", code: exit.Data, want: []string{"t.csv: not a gpfit model file"}},
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
	{args: "predict m.gpfit other.csv", code: exit.Data, want: []string{`no column named "a"`}, files: map[string]string{"other.csv": "z\n1\n"}},
	{args: "predict m.gpfit t.csv --features a", code: exit.Usage, want: []string{"selects 1 columns, but the model has 2"}},
	{args: "predict m.gpfit t.csv --interval 1", code: exit.Usage, want: []string{"between 0 and 1"}},
	{args: "predict m.gpfit t.csv --out t.csv", code: exit.Usage, want: []string{"is also an input"}},
	{args: "predict m.gpfit t.csv --out x.csv --cov x.csv", code: exit.Usage, want: []string{"is also the file of --out"}},
	{args: "predict m.gpfit t.csv --cov x.txt", code: exit.Usage, want: []string{"must end in"}},
	{args: "predict m.gpfit t.csv --plot x.gif", code: exit.Usage, want: []string{".svg, .png or .pdf"}},
	{args: "predict m.gpfit t.csv --draws -1", code: exit.Usage, want: []string{"must not be negative"}},
	{args: "loo two.gpfit", code: exit.Usage, want: []string{"choose one with --target"}},
	{args: "loo two.gpfit --target z", code: exit.Usage, want: []string{"the model's targets are"}},
	{args: "weights m.gpfit", code: exit.Usage, want: []string{"has no term with finitely many features"}},
	{args: "fit t.csv --out n.gpfit --checkpoint old", code: exit.Usage, want: []string{"old", "is not a checkpoint"}, files: map[string]string{"old": "x\n"}},
	{args: "fit t.csv --out n.gpfit --checkpoint old", code: exit.Usage, want: []string{"written by another version"}, files: map[string]string{"old": "gpfit-checkpoint 0 x\n"}},
	{args: "fit t.csv --out n.gpfit --checkpoint old", code: exit.Usage, want: []string{"belongs to another job"}, files: map[string]string{"old": "gpfit-checkpoint 1 x\n"}},
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
	{args: "batch nospec.yaml", code: exit.Usage, want: []string{"nospec.yaml: cannot be read: no such file"}},
	{args: "batch .", code: exit.Usage, want: []string{".: cannot be read"}},
	{args: "batch spec.yaml --out done", code: exit.Usage, want: []string{"continue with 'gpfit resume done'"}},
	{args: "batch spec.yaml --out t.csv", code: exit.Failure, want: []string{"t.csv"}},
	{args: "batch spec.yaml --shard 4/4 --out new.run", code: exit.Usage, want: []string{"is not in the range"}},
	{args: "batch spec.yaml --memory x --out new.run", code: exit.Usage, want: []string{"must be an amount of memory"}},
	{args: "batch bad.yaml --dry-run", code: exit.SomeFailed, want: []string{"will fail", "1 of 1 jobs will fail"}, files: map[string]string{"bad.yaml": "data: [mask.csv]\nkernels: [rbf]\n"}},
	{args: "batch bad.yaml --out new.run", code: exit.Data, want: []string{"none.csv", "no such file"}, files: map[string]string{"bad.yaml": "data: [none.csv]\nkernels: [rbf]\n"}},
	{args: "resume nothing", code: exit.Data, want: []string{"nothing: is not a run directory"}},
	{args: "resume t.csv", code: exit.Failure, want: []string{"t.csv"}},
	{args: "resume stopped", code: exit.Data, want: []string{"start it again with 'gpfit batch SPEC --out stopped'"}, change: func(dir string) error {
		return os.MkdirAll(filepath.Join(dir, "stopped", "lock"), 0o755)
	}},
	{args: "resume done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inDone("run.json", cutShort)},
	{args: "show done", code: exit.Data, want: []string{"done/run.json: is damaged"}, change: inDone("run.json", func([]byte) []byte { return []byte("{}") })},
	{args: "show done", code: exit.Data, want: []string{"use a newer gpfit"}, change: inDone("run.json", func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"schema_version": 1`), []byte(`"schema_version": 9`), 1)
	})},
	{args: "show done --format jsn", code: exit.Usage, want: []string{`did you mean "json"`}},
	{args: "show done --out done/run.json", code: exit.Usage, want: []string{"is also an input"}},
	{args: "report fresh --out t.csv", code: exit.Usage, want: []string{"is also an input"}, change: freshRun},
	{args: "resume fresh", code: exit.Data, want: []string{"changed since the run was made", "--allow-changed"}, change: func(dir string) error {
		return errors.Join(freshRun(dir), onFile("t.csv", cutShort)(dir))
	}},
}

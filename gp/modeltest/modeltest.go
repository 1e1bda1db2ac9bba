// Package modeltest edits model files for tests: the result has the right checksum, and contents that no
// gpfit would have written. Start at [Edit].
package modeltest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/testcheck"
)

// member is an entry of a model file.
type member struct {
	name string
	text []byte
}

// Edit returns a model file with an edit that rng draws: values of its headers are changed, numbers or
// sizes of arrays, entries, or bytes anywhere. It has the right checksum.
func Edit(t testcheck.Test, rng *rand.Rand, file []byte) []byte {
	parts := read(t, file)
	switch kind := rng.IntN(20); {
	case kind < 12:
		for i, p := range parts {
			if strings.HasSuffix(p.name, ".json") && (p.name == "model.json" || rng.IntN(3) == 0) {
				parts[i].text = editHeader(t, rng, p.text)
			}
		}
	case kind < 15:
		if p := &parts[rng.IntN(len(parts))]; strings.HasSuffix(p.name, ".npy") {
			p.text = editArray(rng, p.text)
		}
	case kind < 16:
		i := rng.IntN(len(parts))
		parts = slices.Delete(parts, i, i+1)
	case kind < 17:
		parts[rng.IntN(len(parts))].text = parts[rng.IntN(len(parts))].text
	default:
		return editBytes(rng, file)
	}
	return write(t, parts)
}

// Numbers returns a model file with the numbers of the named array as edit leaves them, and with the
// right checksum.
func Numbers(t testcheck.Test, file []byte, array string, edit func(v []float64)) []byte {
	parts := read(t, file)
	for _, p := range parts {
		if p.name == array+".npy" {
			numbers := p.text[bytes.IndexByte(p.text, '\n')+1:]
			v := make([]float64, len(numbers)/8)
			testcheck.Get(binary.Decode(numbers, binary.LittleEndian, v))(t)
			edit(v)
			testcheck.Get(binary.Encode(numbers, binary.LittleEndian, v))(t)
		}
	}
	return write(t, parts)
}

// EachValue calls do with a model file for each value of its headers, however deep, and each of some edits: the value becomes
// empty, null, one, many, nested deeply, or its neighbour. The files have the right checksum. do gets the place of the value, and
// tells whether it wants the file, which takes time to make.
func EachValue(t testcheck.Test, file []byte, want func() bool, do func(place string, edited []byte)) {
	parts := read(t, file)
	for i, p := range parts {
		if !strings.HasSuffix(p.name, ".json") {
			continue
		}
		var v any
		testcheck.Do(t, json.Unmarshal(p.text, &v))
		each(v, p.name, nil, func(place string) {
			if !want() {
				return
			}
			text := testcheck.Get(json.Marshal(v))(t)
			edited := slices.Clone(parts)
			edited[i].text = bytes.ReplaceAll(text, []byte(`"DEEP"`), bytes.Repeat([]byte("["), 20000))
			do(place, write(t, edited))
		})
	}
}

// each sets every value within v to each of its variations in turn, calls do, and sets it back.
func each(v any, place string, set func(any), do func(place string)) {
	variations := []any{nil, []any{}, map[string]any{}, []any{v}, []any{v, v}, "", "DEEP", 1e300}
	within := func(name string, old, neighbour any, set func(any)) {
		each(old, place+"."+name, set, do)
		set(neighbour)
		do(place + "." + name + " = its neighbour")
		set(old)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for k, key := range keys {
			within(key, v[key], v[keys[(k+1)%len(keys)]], func(to any) { v[key] = to })
		}
	case []any:
		variations = append(variations, v[:len(v)/2], slices.Repeat(v, 1+1000/(1+len(v))))
		for k := range v[:min(len(v), 3)] {
			within(strconv.Itoa(k), v[k], v[(k+1)%len(v)], func(to any) { v[k] = to })
		}
	}
	if set == nil {
		return
	}
	for k, variation := range variations {
		set(variation)
		do(fmt.Sprintf("%s, variation %d", place, k))
	}
	set(v)
}

func read(t testcheck.Test, file []byte) (parts []member) {
	z := testcheck.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	for _, f := range z.File {
		r := testcheck.Get(f.Open())(t)
		parts = append(parts, member{f.Name, testcheck.Get(io.ReadAll(r))(t)})
	}
	return parts
}

func write(t testcheck.Test, parts []member) []byte {
	var text bytes.Buffer
	z := zip.NewWriter(&text)
	testcheck.Do(t, z.SetComment("gpfit model sha256 "+strings.Repeat("0", 2*sha256.Size)))
	for _, p := range parts {
		w := testcheck.Get(z.CreateHeader(&zip.FileHeader{Name: p.name, Method: zip.Store}))(t)
		testcheck.Get(w.Write(p.text))(t)
	}
	testcheck.Do(t, z.Close())
	return signed(text.Bytes())
}

// signed returns a file with the checksum of its other bytes at its end.
func signed(file []byte) []byte {
	body := file[:len(file)-2*sha256.Size]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), hex.EncodeToString(sum[:])...)
}

// strange are values that take the place of another in a header.
var strange = []string{
	`null`, `true`, `""`, `"x"`, `"rbf(ard)"`, `0`, `-1`, `0.5`, `1e300`, `-1e300`, `1e-320`, `1099511627776`, `9e18`, `2`, `3`, `[]`, `[null]`, `[1]`, `[-1, 2]`,
	`["a", "b"]`, `{}`, `[[]]`, `[{}]`,
}

// additions are members that a header may get in addition.
var additions = []string{
	`"experts": {"combine": "rbcm", "centres": [[0,0]], "sizes": [12], "clusters": 1, "seed": 1, "inertia": 1}`,
	`"experts": {"combine": "rbcm", "centres": [[0,0],[1,1]], "sizes": [6,6], "clusters": 2, "seed": 1, "inertia": 1}`,
	`"locals": [{"theta": [1,1,1,1,1], "noise_variance": 0.1, "jitter": 0, "nlml": 1, "status": ""}]`, `"draws": {"method": "laplace", "theta": []}`,
	`"draws": {"method": "laplace", "theta": [[1,1,1,1,1]], "noise": [[0.1]]}`, `"draws": {"method": "laplace", "theta": [[1,1]], "noise": [[0.1]], "group": [0]}`,
	`"targets": [{"name": "y", "y_mean": 0, "y_scale": 1, "nlml": 0}]`, `"targets": [{"name": "a", "y_scale": 1}, {"name": "b", "y_scale": 1}]`,
	`"encoding": {"columns": []}`, `"held_out": {"of": 1, "seed": 1, "rows": [-1, 1000000]}`, `"noise": {"outlying": [0], "outlying_variances": [1]}`,
	`"noise": {"group_column": "g", "labels": ["a"], "variances": [1]}`, `"noise": {"column": "v", "weight_column": "v"}`, `"columns": [0, 0]`, `"columns": [2, 0]`,
	`"mean": {"text": "x", "basis": [{"group": "linear"}], "coefficients": [1]}`, `"schema_version": 1`, `"n": 6`, `"n": 24`, `"kernel": "formula(1/x)"`, `"kernel": "rbf(dims=9)"`,
}

// editHeader returns a JSON object with one or two values changed.
func editHeader(t testcheck.Test, rng *rand.Rand, text []byte) []byte {
	if rng.IntN(5) == 0 { // of two equal keys the last one counts
		return slices.Concat(bytes.TrimRight(text, "}\n "), []byte(", "+additions[rng.IntN(len(additions))]+"}"))
	}
	var v any
	testcheck.Do(t, json.Unmarshal(text, &v))
	for range 1 + rng.IntN(2) {
		v = editValue(rng, v)
	}
	return testcheck.Get(json.Marshal(v))(t)
}

// editValue changes one value somewhere within v, and returns the changed v.
func editValue(rng *rand.Rand, v any) any {
	deeper := rng.IntN(5) > 0
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && deeper {
			key := slices.Sorted(maps.Keys(v))[rng.IntN(len(v))]
			if rng.IntN(10) == 0 {
				delete(v, key)
			} else {
				v[key] = editValue(rng, v[key])
			}
			return v
		}
	case []any:
		if len(v) > 0 && deeper {
			return editList(rng, v)
		}
	case float64:
		if rng.IntN(2) == 0 {
			return []float64{-v, v + 1, v - 1, v * 1e6, v / 3, math.Trunc(v)}[rng.IntN(6)]
		}
	}
	var other any
	_ = json.Unmarshal([]byte(strange[rng.IntN(len(strange))]), &other) // all of them are JSON
	return other
}

func editList(rng *rand.Rand, v []any) []any {
	i := rng.IntN(len(v))
	switch rng.IntN(8) {
	case 0:
		return slices.Delete(v, i, i+1)
	case 1:
		return append(v, v[i])
	case 2:
		v[i] = v[rng.IntN(len(v))]
	default:
		v[i] = editValue(rng, v[i])
	}
	return v
}

// editArray returns a .npy file with one number or some bytes changed.
func editArray(rng *rand.Rand, text []byte) []byte {
	switch rng.IntN(6) {
	case 0:
		return text[:rng.IntN(len(text))]
	case 1:
		return append(text, text[:min(8*rng.IntN(4), len(text))]...)
	case 2:
		text[rng.IntN(min(len(text), 128))] ^= byte(1 + rng.IntN(255))
		return text
	}
	at := max(0, len(text)-8-8*rng.IntN(max(1, (len(text)-128)/8)))
	values := []float64{math.NaN(), math.Inf(1), -1, 0, 1e308, -1e308, 5e-324, rng.NormFloat64()}
	binary.LittleEndian.PutUint64(text[at:], math.Float64bits(values[rng.IntN(len(values))]))
	return text
}

// editBytes changes a few bytes or cuts some out, half of the time near the directory at the end.
func editBytes(rng *rand.Rand, file []byte) []byte {
	const tail = 2*sha256.Size + 20 // the comment, which says that this is a model
	out := slices.Clone(file)
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(out) - tail)
		if rng.IntN(2) == 0 {
			at = max(0, len(out)-tail-rng.IntN(600))
		}
		if rng.IntN(8) == 0 {
			out = slices.Delete(out, at, min(at+rng.IntN(20), max(at, len(out)-tail)))
		} else {
			out[at] = []byte{0, 255, byte(rng.IntN(256)), out[at] ^ 1<<rng.IntN(8)}[rng.IntN(4)]
		}
	}
	return signed(out)
}

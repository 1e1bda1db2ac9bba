// Package companion reads and writes files of simpler regressions: a fitted method of package
// baseline with the columns and the scaling of its table. A file is one JSON object. Start at
// [Load] and [Regression.Save].
package companion

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/internal/userfile"
	"gpfit/table/feature"
)

// SchemaVersion is the newest version of the file. This package reads all earlier versions, too.
const SchemaVersion = 1

// Type is the member type of a file, its first.
const Type = "gpfit regression"

// Regression is a fitted regression.
type Regression struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// Program is the version of gpfit that wrote the file, Data the table, and Method the method's name.
	Program string `json:"program,omitempty"`
	Data    string `json:"data,omitempty"`
	Method  string `json:"method"`
	// N counts training rows.
	N int `json:"n"`
	// FeatureNames, TargetName, Encoding, Columns and Scaling mean the same as in a [gp.Model].
	FeatureNames []string          `json:"feature_names"`
	TargetName   string            `json:"target_name"`
	Encoding     *feature.Encoding `json:"encoding,omitempty"`
	Columns      []int             `json:"columns"`
	Scaling      gp.Scaling        `json:"scaling"`
	// Parameters are the values that the fit chose, by name, for the scaled table.
	Parameters map[string]float64 `json:"parameters"`
	// Weights and Intercept belong to a linear function, in original units; nil for other functions.
	Weights   map[string]float64 `json:"weights,omitempty"`
	Intercept *float64           `json:"intercept,omitempty"`
	// Model is the function of scaled columns in use.
	Model *baseline.Stored `json:"model"`
	// Seal is a SHA-256 of what all other members mean. Whoever edits a text and makes the checksum right leaves it as it was. Files of
	// older programs have none.
	Seal string `json:"seal,omitempty"`

	model baseline.Model
}

// New returns a fitted model, whose scaling belongs to the columns in use of features.
func New(method string, model baseline.Model, n int, like *gp.Model, parameters map[string]float64) (*Regression, error) {
	record, err := baseline.Store(model)
	if err != nil {
		return nil, err
	}
	f := &Regression{
		Type: Type, SchemaVersion: SchemaVersion, Method: method, N: n, FeatureNames: like.FeatureNames, TargetName: like.TargetName, Encoding: like.Encoding,
		Columns: like.Columns, Scaling: like.Scaling, Parameters: parameters, Model: record, model: model,
	}
	switch {
	case record.Linear != nil:
		f.linear(record.Linear.Weights, record.Linear.Intercept)
	case record.Bayes != nil && record.Basis == nil:
		f.linear(record.Bayes.Weights, record.Bayes.Intercept)
	}
	return f, nil
}

// linear sets weights and intercept in original units, from weights of scaled columns and their intercept.
func (f *Regression) linear(weights []float64, intercept float64) {
	f.Weights = map[string]float64{}
	for k, c := range f.Columns {
		slope := weights[k] / f.Scaling.XScale[k]
		intercept -= slope * f.Scaling.XMean[k]
		f.Weights[f.FeatureNames[c]] = slope * f.Scaling.YScale
	}
	intercept = f.Scaling.YMean + intercept*f.Scaling.YScale
	f.Intercept = &intercept
}

// Rows describes the rows to predict, as a model does for package dataset. It has no kernel.
func (f *Regression) Rows() *gp.Model {
	return &gp.Model{FeatureNames: f.FeatureNames, TargetName: f.TargetName, Encoding: f.Encoding, Columns: f.Columns, Scaling: f.Scaling}
}

// HasDensity reports whether predictions have standard deviations.
func (f *Regression) HasDensity() bool {
	p, err := f.model.Predict(mat.NewDense(1, max(1, len(f.Columns)), nil))
	return err == nil && p.Variance != nil
}

// Predict predicts m rows of all features, in original units. Std and the bounds are nil without a density.
// Errors: [*gp.RangeError].
func (f *Regression) Predict(rows []float64, m int) (*gp.Prediction, error) {
	var used []float64
	for row := range slices.Chunk(rows, len(f.FeatureNames)) {
		used = append(used, matrixrows.Values(row, f.Columns)...)
	}
	return Predict(f.model, f.Scaling, mat.NewDense(m, len(f.Columns), f.Scaling.Inputs(used)))
}

// Predict predicts scaled rows in original units.
func Predict(model baseline.Model, scaling gp.Scaling, x *mat.Dense) (*gp.Prediction, error) {
	p, err := model.Predict(x)
	if err != nil {
		return nil, err
	}
	m, _ := x.Dims()
	if len(p.Mean) != m || p.Variance != nil && len(p.Variance) != m {
		return nil, fmt.Errorf("%d means and %d variances for %d rows", len(p.Mean), len(p.Variance), m)
	}
	out := &gp.Prediction{Mean: make([]float64, m)}
	for i, v := range p.Mean {
		out.Mean[i] = scaling.YMean + v*scaling.YScale
	}
	for i, v := range p.Variance {
		std := math.Sqrt(v) * scaling.YScale
		out.Std = append(out.Std, std)
		out.Lower95, out.Upper95 = append(out.Lower95, out.Mean[i]-score.Z95*std), append(out.Upper95, out.Mean[i]+score.Z95*std)
	}
	for what, values := range map[string][]float64{"mean": out.Mean, "standard deviation": out.Std} {
		if i := slices.IndexFunc(values, func(v float64) bool { return v-v != 0 }); i >= 0 {
			return nil, &gp.RangeError{What: what, Row: i}
		}
	}
	return out, nil
}

// checksum is the last member of a file, whose digits follow: the SHA-256 of everything before it.
const checksum = ",\n \"sha256\": \""

// Write writes the file.
func (f *Regression) Write(w io.Writer) error {
	sealed := *f
	sealed.Seal = ""
	text, err := json.Marshal(&sealed)
	if err != nil {
		return err
	}
	sealed.Seal = seal(text)
	text, _ = json.MarshalIndent(&sealed, "", " ") // as before
	body := bytes.TrimSuffix(text, []byte("\n}"))
	sum := sha256.Sum256(body)
	_, err = fmt.Fprintf(w, "%s%s%s\"\n}\n", body, checksum, hex.EncodeToString(sum[:]))
	return err
}

// Save writes the file at path, whole or not at all. Only if replace is true, it replaces an existing file.
func (f *Regression) Save(ctx context.Context, path string, replace bool) error {
	return atomicfile.Writer(replace)(ctx, path, f.Write)
}

// seal returns the seal of a file's text, which is JSON. How it is laid out makes no difference.
func seal(text []byte) string {
	var v map[string]any
	d, sum := json.NewDecoder(bytes.NewReader(text)), sha256.New()
	d.UseNumber()
	_ = d.Decode(&v)
	delete(v, "seal")
	delete(v, "sha256")
	_ = json.NewEncoder(sum).Encode(v)
	return hex.EncodeToString(sum.Sum(nil))
}

// most bounds the bytes of a file.
const most = 256 << 20

// Is reports whether the file at path looks like one of this package.
func Is(path string) bool {
	return bytes.Contains(userfile.Begin(path, 64), []byte(`"`+Type+`"`))
}

// Info describes a file.
type Info struct {
	Bytes  int64
	SHA256 string
}

// Load reads a file and checks that it is complete and unchanged. Errors are [*gp.FileError].
func Load(path string) (*Regression, *Info, error) {
	text, err := userfile.Read(path, most)
	if err != nil {
		return nil, nil, &gp.FileError{Path: path, Msg: "cannot read the model", Err: err}
	}
	f, sum, err := parse(text)
	if err != nil {
		return nil, nil, &gp.FileError{Path: path, Msg: err.Error()}
	}
	return f, &Info{int64(len(text)), sum}, nil
}

// parse reads a file's text.
func parse(text []byte) (*Regression, string, error) {
	at := bytes.LastIndex(text, []byte(checksum))
	if at < 0 {
		return nil, "", fmt.Errorf("the file has no checksum: it is cut off, or it was changed; take another copy, or fit again")
	}
	var end struct {
		SHA256 string `json:"sha256"`
	}
	sum := sha256.Sum256(text[:at])
	want := hex.EncodeToString(sum[:])
	if err := json.Unmarshal(append([]byte("{"), text[at+1:]...), &end); err != nil || end.SHA256 != want {
		return nil, "", fmt.Errorf("the checksum is wrong: the file was changed or is damaged; take another copy, or fit again")
	}
	f := &Regression{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, "", fmt.Errorf("the model cannot be read: %w", err)
	}
	if f.Seal != "" && f.Seal != seal(text) { // an older gpfit wrote none
		return nil, "", fmt.Errorf("the contents were changed after the file was written; take another copy, or fit again")
	}
	return f, want, f.complete()
}

// complete checks the parts against one another and makes the model.
func (f *Regression) complete() error {
	if f.Type != Type || f.SchemaVersion < 1 || f.SchemaVersion > SchemaVersion {
		return fmt.Errorf("the file has type %q and schema version %d, but this gpfit reads %q up to version %d: use a newer gpfit", f.Type, f.SchemaVersion, Type, SchemaVersion)
	}
	d := len(f.Columns)
	outside := func(c int) bool { return c < 0 || c >= len(f.FeatureNames) }
	switch s := f.Scaling; {
	case d == 0, slices.ContainsFunc(f.Columns, outside), len(s.XMean) != d, len(s.XScale) != d, s.Transform != nil, f.Model == nil,
		!(s.YScale > 0), slices.ContainsFunc(s.XScale, func(v float64) bool { return !(v > 0) }):
		return fmt.Errorf("the model's parts do not fit together")
	}
	if f.Encoding != nil {
		if err := f.Encoding.Check(f.FeatureNames); err != nil {
			return fmt.Errorf("the model's parts do not fit together: %w", err)
		}
	}
	var err error
	if f.model, err = f.Model.Model(d); err != nil {
		return fmt.Errorf("the model's parts do not fit together")
	}
	return nil
}

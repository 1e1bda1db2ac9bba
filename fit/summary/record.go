package summary

import (
	"encoding/json"

	"gpfit/gp"
)

// ModelRecord says how a model was made. A model file holds it, as the entry fit.json, beside
// the model.
type ModelRecord struct {
	SchemaVersion int `json:"schema_version"`
	// Program wrote the model, such as "gpfit 0.1.0". Data names the table. Options
	// holds the options that the user gave, by name.
	Program string            `json:"program,omitempty"`
	Data    string            `json:"data,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Report is the report of the fit, Text the same for people.
	Report *Report `json:"report"`
	Text   string  `json:"text"`
	// Updates are the reports of rows that were added after the fit, in order.
	Updates []UpdateReport `json:"updates,omitempty"`
}

// ReadRecord reads the record of a model, gp.Model.Record. A model from an earlier
// version has none; the result is then nil.
func ReadRecord(text []byte) (*ModelRecord, error) {
	if text == nil {
		return nil, nil
	}
	r := &ModelRecord{}
	return r, json.Unmarshal(text, r)
}

// UpdateReport is the result of adding rows to a model.
type UpdateReport struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N counts the training rows of the new model, Added the new ones among them. Tuned
	// is the number of rows on which the parameters were found, 0 if that is unknown.
	N     int `json:"n"`
	Added int `json:"added"`
	Tuned int `json:"tuned"`
	// Device is where gpfit computed. Extended says that it kept the factor of the model;
	// otherwise it computed all of it.
	Device   string `json:"device"`
	Extended bool   `json:"extended"`
	// NLMLBefore and NLML are those of the model and of the new model, in scaled units.
	NLMLBefore float64 `json:"nlml_before"`
	NLML       float64 `json:"nlml"`
	// NewRows compares the new rows of each target with what the model predicted.
	NewRows []gp.ExtensionScores `json:"new_rows"`
	// Advice holds the reasons to tune the parameters again; none if there is no need.
	Advice []string `json:"advice"`
	// Retuned says that the parameters were tuned on all rows after this.
	Retuned   bool     `json:"retuned"`
	Warnings  []string `json:"warnings"`
	ModelFile string   `json:"model_file,omitempty"`
	Seconds   float64  `json:"seconds"`
	// Fit is the report of the new parameters, if they were tuned.
	Fit *Report `json:"fit,omitempty"`
}

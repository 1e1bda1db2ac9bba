package main

import (
	"bufio"
	"io"
	"strconv"

	"gpfit/gp"
)

// predictionWriter writes predictions as they come, a table of CSV; or one JSON
// object at the end.
type predictionWriter struct {
	w      io.Writer
	csv    *bufio.Writer // nil for JSON
	header bool          // has been written
	all    gp.Prediction // of JSON
	line   []byte
}

func newPredictionWriter(w io.Writer, asJSON bool) *predictionWriter {
	out := &predictionWriter{w: w}
	if !asJSON {
		out.csv = bufio.NewWriterSize(w, 1<<16)
	}
	return out
}

// add writes the predictions of further rows.
func (out *predictionWriter) add(p *gp.Prediction) error {
	if out.csv == nil {
		a := &out.all
		a.Mean, a.Std, a.StdLatent = append(a.Mean, p.Mean...), append(a.Std, p.Std...), append(a.StdLatent, p.StdLatent...)
		a.Lower95, a.Upper95 = append(a.Lower95, p.Lower95...), append(a.Upper95, p.Upper95...)
		return nil
	}
	if !out.header {
		out.header = true
		if _, err := out.csv.WriteString("mean,std,lower95,upper95,std_latent\n"); err != nil {
			return err
		}
	}
	for i := range p.Mean {
		out.line = out.line[:0]
		for q, v := range [...]float64{p.Mean[i], p.Std[i], p.Lower95[i], p.Upper95[i], p.StdLatent[i]} {
			if q > 0 {
				out.line = append(out.line, ',')
			}
			out.line = strconv.AppendFloat(out.line, v, 'g', -1, 64)
		}
		if _, err := out.csv.Write(append(out.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// end writes what is left.
func (out *predictionWriter) end() error {
	if out.csv != nil {
		return out.csv.Flush()
	}
	p := &out.all
	return encodeJSON(out.w, map[string]any{
		"type": "prediction", "schema_version": 1, "n": len(p.Mean), "mean": p.Mean, "std": p.Std,
		"lower95": p.Lower95, "upper95": p.Upper95, "std_latent": p.StdLatent,
	}, nil)
}

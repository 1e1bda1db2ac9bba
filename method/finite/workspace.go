package finite

import (
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// workspace is the [hostmethod.Engine].
type workspace struct {
	*hostmethod.State
	// expansion belongs to Form, and other belongs to a call at other parameters.
	*expansion
	other *otherExpansion
	// phi are the features of all rows; nil if they are not there.
	phi []float64
	factor
}

// Held implements [hostmethod.Engine].
func (w *workspace) Held() (bytes, matrices int64) {
	return 8 * int64(len(w.phi)+len(w.noise)+len(w.rows)+len(w.r)), 0
}

// otherExpansion is an expansion at other parameters than Form's.
type otherExpansion struct {
	*expansion
	// reduction is ΦᵀΣ⁻¹Φ; nil until a prediction needs it.
	reduction []float64
}

// expand returns the features of a kernel.
func (w *workspace) expand(prog *kernel.Program, theta []float64) (*expansion, error) {
	switch {
	case w.phi != nil && w.isAt(prog, theta):
		return w.expansion, nil
	case w.other != nil && w.other.isAt(prog, theta):
		return w.other.expansion, nil
	}
	e, err := newExpansion(prog, theta, w.Points)
	if err != nil {
		return nil, err
	}
	w.other = &otherExpansion{expansion: e}
	return e, nil
}

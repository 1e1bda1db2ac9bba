package vec

// TurnWaves multiplies cos + i·sin in each row by turnCos + i·turnSin of the row, for the
// length of turnCos.
func TurnWaves(cos, sin, turnCos, turnSin []float64) {
	n := len(turnCos)
	turnSin = first(turnSin, n)
	if cos, sin = first(cos, Waves*n), first(sin, Waves*n); n > 0 {
		turnWaves(cos, sin, turnCos, turnSin)
	}
}

// WaveSums sets sums to the sums over rows of cos·y, sin·y, cos², sin² and cos·sin for each
// wave, for the length of y. The sums are in the order of the rows.
func WaveSums(sums *[5][Waves]float64, cos, sin, y []float64) {
	cos, sin = first(cos, Waves*len(y)), first(sin, Waves*len(y))
	if len(y) == 0 {
		*sums = [5][Waves]float64{}
		return
	}
	waveSums(sums, cos, sin, y)
}

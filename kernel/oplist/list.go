package oplist

import (
	"encoding/binary"
	"math"
	"slices"
)

// ID is the index of a value in a list.
type ID int32

// None stands for no value.
const None ID = -1

// Op is an operation.
type Op uint8

// The operations, with a the value of Args[0].
const (
	// Number is the number Value.Number.
	Number Op = iota
	// Parameter is θ[Index], which is positive unless the value is Real.
	Parameter
	// Feature is the pair's feature number Index.
	Feature
	// Sum is Σ_i Coef[i]·Args[i], plus Offset if it is not None. Coef and Offset
	// are uniform. The coefficients of a uniform Sum are numbers.
	Sum
	// Product is Π_i Args[i]^Powers[i]; a uniform product is multiplied by Value.Number.
	Product
	// Exp is e^a, Log is log a, Log1p is log(1 + a) for a ≥ 0.
	Exp
	Log
	Log1p
	// LogOrZero is log a, and 0 where a is 0. Derivatives multiply it by a factor that is 0 there.
	LogOrZero
	// Sqrt is √a. RootInverse is 1/√a, and 0 where a is 0. It occurs in derivatives
	// of distances, which take the mean of both one-sided limits there.
	Sqrt
	RootInverse
	// Sine is sin 2πa and Cosine is cos 2πa.
	Sine
	Cosine
	Tanh
	Arcsine
	// Erf is the error function.
	Erf
	// Abs is |a|, Positive is max(a, 0), and Step is 1 where a > 0 and 0 elsewhere.
	Abs
	Positive
	Step
	// Power is a^Coef[0] for a ≥ 0, with a uniform exponent.
	Power
	// Decay is (Σ_k Poly[k]·t^(k−1))·e^−t with t = √a. At t = 0 the t^−1 term counts as 0.
	Decay
	// Sinc is j_n(a)/aⁿ with the spherical Bessel function j_n of order n = Index: sin(a)/a for n = 0.
	// Its derivative is −a times the function of order n + 1.
	Sinc
)

// Value is an operation on earlier values.
type Value struct {
	Op   Op
	Args []ID
	// Coef and Offset belong to a Sum, Powers to a Product.
	Coef   []ID
	Offset ID
	Powers []int
	Number float64
	Index  int
	// Poly are the coefficients of Decay, from the coefficient of t^−1 on.
	Poly []float64
	// Real marks a Parameter of either sign.
	Real bool
	// Uniform reports whether the value is the same for all pairs.
	Uniform bool
	// Sign is the known sign of the value.
	Sign Sign
}

// Sign describes what is known about the sign of a value.
type Sign uint8

// The signs. AtLeast0 and AtMost0 include 0; Above0 and Below0 do not.
const (
	Unknown Sign = iota
	AtLeast0
	Above0
	AtMost0
	Below0
)

// NotNegative reports whether the value is known to be at least 0.
func (s Sign) NotNegative() bool { return s == AtLeast0 || s == Above0 }

// NotPositive reports whether the value is known to be at most 0.
func (s Sign) NotPositive() bool { return s == AtMost0 || s == Below0 }

func (s Sign) times(t Sign) Sign {
	switch {
	case s == Unknown || t == Unknown:
		return Unknown
	case (s == Above0 || s == Below0) && (t == Above0 || t == Below0):
		if s == t {
			return Above0
		}
		return Below0
	case s.NotNegative() == t.NotNegative():
		return AtLeast0
	}
	return AtMost0
}

// List is a list of values. The zero value is empty and ready for use.
type List struct {
	Values []Value
	known  map[string]ID
}

// At returns the value v.
func (l *List) At(v ID) *Value { return &l.Values[v] }

// put returns the value that equals v. It adds v if no such value exists.
func (l *List) put(v Value) ID {
	if v.Op != Sum {
		v.Offset = None
	}
	v.Uniform = v.Op != Feature
	for _, a := range v.Args {
		v.Uniform = v.Uniform && l.At(a).Uniform
	}
	key := v.key()
	if id, ok := l.known[key]; ok {
		return id
	}
	if l.known == nil {
		l.known = map[string]ID{}
	}
	v.Sign = signs(l.Values).of(v)
	id := ID(len(l.Values))
	l.Values = append(l.Values, v)
	l.known[key] = id
	return id
}

// key returns a string that is different for different values.
func (v *Value) key() string {
	b := make([]byte, 0, 128)
	put := func(x uint64) { b = binary.LittleEndian.AppendUint64(b, x) }
	put(uint64(v.Op) | uint64(len(v.Args))<<8 | uint64(len(v.Coef))<<24 | uint64(len(v.Poly))<<40)
	put(uint64(uint32(v.Offset)) | uint64(v.Index)<<32)
	put(math.Float64bits(v.Number))
	if v.Real {
		put(1)
	}
	for i, a := range v.Args {
		power := 0
		if v.Powers != nil {
			power = v.Powers[i]
		}
		put(uint64(uint32(a)) | uint64(uint32(power))<<32)
	}
	for _, c := range v.Coef {
		put(uint64(c))
	}
	for _, p := range v.Poly {
		put(math.Float64bits(p))
	}
	return string(b)
}

// signs finds the sign of a value from the signs of earlier values.
type signs []Value

func (s signs) of(v Value) Sign {
	arg := Unknown
	if len(v.Args) > 0 {
		arg = s[v.Args[0]].Sign
	}
	switch v.Op {
	case Number:
		return signOf(v.Number)
	case Parameter:
		if v.Real {
			return Unknown
		}
		return Above0
	case Exp:
		return Above0
	case Feature:
		return v.Sign
	case Sum:
		return s.ofSum(v)
	case Product:
		return s.ofProduct(v)
	case Sqrt, RootInverse, Log1p, Abs, Positive, Step, Power:
		return AtLeast0
	case Tanh, Arcsine, Erf:
		return arg
	}
	return Unknown
}

func signOf(x float64) Sign {
	switch {
	case x > 0:
		return Above0
	case x < 0:
		return Below0
	case x == 0:
		return AtLeast0
	}
	return Unknown
}

func (s signs) ofSum(v Value) Sign {
	var terms []Sign
	for i, a := range v.Args {
		terms = append(terms, s[a].Sign.times(s[v.Coef[i]].Sign))
	}
	if v.Offset != None {
		terms = append(terms, s[v.Offset].Sign)
	}
	switch {
	case !slices.ContainsFunc(terms, func(s Sign) bool { return !s.NotNegative() }):
		if slices.Contains(terms, Above0) {
			return Above0
		}
		return AtLeast0
	case !slices.ContainsFunc(terms, func(s Sign) bool { return !s.NotPositive() }):
		if slices.Contains(terms, Below0) {
			return Below0
		}
		return AtMost0
	}
	return Unknown
}

func (s signs) ofProduct(v Value) Sign {
	sign := Above0
	if v.Uniform {
		sign = signOf(v.Number)
	}
	for i, a := range v.Args {
		factor := s[a].Sign
		if v.Powers[i]%2 == 0 {
			if factor = AtLeast0; s[a].Sign == Above0 || s[a].Sign == Below0 {
				factor = Above0
			}
		}
		sign = sign.times(factor)
	}
	return sign
}

// Needed marks the given values and the values that they depend on.
func (l *List) Needed(roots ...ID) []bool {
	needed := make([]bool, len(l.Values))
	for _, r := range roots {
		if r != None {
			needed[r] = true
		}
	}
	for id := len(l.Values) - 1; id >= 0; id-- {
		if v := &l.Values[id]; needed[id] {
			for _, a := range slices.Concat(v.Args, v.Coef, []ID{v.Offset}) {
				if a != None {
					needed[a] = true
				}
			}
		}
	}
	return needed
}

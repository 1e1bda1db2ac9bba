package bindings

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

var goSizes = types.SizesFor("gc", "amd64")

// fits returns why an argument does not match a parameter, nil if it does.
func fits(p param, a argument) error {
	c, known := ctypes[p.base]
	switch {
	case !known && p.base != "void":
		return fmt.Errorf("the type %s is not in ctypes", p.base)
	case p.stars > 0:
		return fitsPointer(p, c, a)
	case c.kind == handle:
		if a.form != aHandle {
			return fmt.Errorf("C takes a handle, but Go passes %s", a.form)
		}
		return nil
	case p.base == deviceAddress:
		if a.form != onDevice {
			return fmt.Errorf("C takes an address on the device, but Go passes %s", a.form)
		}
		return nil
	case c.kind == enumeration:
		return fitsEnumeration(p, a)
	case c.kind == integer:
		return fitsInteger(p, c, a)
	}
	return fmt.Errorf("Go cannot pass a %s by value", p.base)
}

func (f passed) String() string {
	return [...]string{"a number", "a constant", "an address in host memory", "a handle", "an address on the device"}[f]
}

func fitsPointer(p param, c ctype, a argument) error {
	switch {
	case a.form == aConstant && a.zero && p.stars > 1: // NULL
		return nil
	case a.form == onDevice && p.stars == 1 && p.base != deviceAddress && c.kind != handle:
		return nil
	case a.form != anAddress:
		return fmt.Errorf("C takes a pointer, but Go passes %s", a.form)
	case a.typ == nil:
		if p.base != "void" {
			return fmt.Errorf("Go passes the address of something unknown")
		}
		return nil
	}
	size := goSizes.Sizeof(a.typ)
	float := types.Identical(a.typ, types.Typ[types.Float64]) || types.Identical(a.typ, types.Typ[types.Float32])
	_, pointer := a.typ.(*types.Pointer)
	pointer = pointer || types.Identical(a.typ, types.Typ[types.Uintptr])
	switch {
	case p.stars > 1 || c.kind == handle:
		if !pointer {
			return fmt.Errorf("C points to pointers, but Go to %s", a.typ)
		}
	case p.base == "void": // anything, including an array of pointers; the headers check this case
	case size != c.size || float != (c.kind == real):
		return fmt.Errorf("C points to a %s of %d bytes, but Go to %s", p.base, c.size, a.typ)
	}
	return nil
}

func fitsEnumeration(p param, a argument) error {
	switch a.form {
	case aConstant:
		if enum := constants[a.name].ctype; enum != p.base {
			return fmt.Errorf("Go passes %q, which belongs to the enumeration %q", a.name, enum)
		}
		return nil
	case aNumber:
		if n, ok := a.typ.(*types.Named); ok && goEnums[n.Obj().Name()] != p.base {
			return fmt.Errorf("Go passes a %s, which is a %q", a.typ, goEnums[n.Obj().Name()])
		}
		return nil
	case aHandle: // types like Transpose have the underlying type uintptr, and a name
	}
	return fmt.Errorf("C takes a value of an enumeration, but Go passes %s", a.form)
}

func fitsInteger(p param, c ctype, a argument) error {
	switch {
	case a.form == aConstant:
		if enum := constants[a.name].ctype; enum != "" {
			return fmt.Errorf("Go passes %s of the enumeration %s", a.name, enum)
		}
		return nil
	case a.form != aNumber:
		return fmt.Errorf("C takes an integer, but Go passes %s", a.form)
	}
	// An int is a length or a small index; sizes of data are int64.
	if size := goSizes.Sizeof(a.typ); size > c.size && !types.Identical(a.typ, types.Typ[types.Int]) {
		return fmt.Errorf("C takes %d bytes, but Go passes a %s", c.size, a.typ)
	}
	if slices.Contains([]string{"m", "n", "k"}, a.name) && len(p.name) == 1 && p.name != strings.ToUpper(p.name) && a.name != p.name {
		return fmt.Errorf("Go passes %s", a.name)
	}
	if (a.name == "LD") != strings.HasPrefix(p.name, "ld") {
		return fmt.Errorf("only one of Go and C has a leading dimension here")
	}
	return nil
}

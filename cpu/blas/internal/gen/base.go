package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// base generates the routines that need no vector extension.
func base() {
	TEXT("pause", NOSPLIT, "func(n int)")
	Doc("pause executes n > 0 PAUSE instructions.")
	n := reg.RAX
	Load(Param("n"), n)
	Label("loop")
	PAUSE()
	DECQ(n)
	JNZ(Ref("loop"))
	RET()
}

#include "textflag.h"

// ISB takes some tens of cycles, like PAUSE on amd64; YIELD does nothing on most
// processors.

// func pause(n int)
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0

loop:
	ISB  $15
	SUBS $1, R0, R0
	BNE  loop
	RET

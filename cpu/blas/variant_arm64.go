package blas

// processorVariants returns neon: the architecture requires it.
func processorVariants() []string { return []string{NEON} }

package option

import (
	"gpfit/compare"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/internal/columns"
	"gpfit/internal/dataset"
	"gpfit/internal/rows"
)

// Values are the options of the library that the table sets, and those of the
// program. A command or a batch uses the part that it needs.
type Values struct {
	// Data describes how to read a training table, Rows how to read a table for a model.
	Data dataset.Options
	Rows rows.Options
	// Fit describes the model and how to tune it.
	Fit problem.Options
	// CrossValidate requests the scores that CrossValidation describes.
	CrossValidate   bool
	CrossValidation problem.CrossValidation
	// Select describes how to compare kernels.
	Select fit.SelectOptions
	// Compare describes how to compare methods.
	Compare compare.Options
	// Profile describes the curves, the contour or the fits of a profile.
	Profile fit.ProfileOptions
	// Joint requests joint draws and covariances.
	Joint columns.Sampling
	// Target is the target of a model that has several.
	Target  string
	Compute Compute
	Output  Output
}

// Compute describes where to compute.
type Compute struct {
	// Device is "auto", a name, or several names separated by commas. Fallback is
	// the device to take if Device is not available, is lost or is too small; empty
	// for none.
	Device, Fallback string
	// Method is the name of a method, chosen or empty.
	Method string
	// Threads is the number of CPU threads; 0 means all, or in a batch a number
	// that depends on the size of the job.
	Threads int
	// Memory is the number of bytes that one job of a batch may plan for; 0 sets no
	// limit. Retries is how often a batch retries a job.
	Memory  int64
	Retries int
}

// Output describes where results go, and what gpfit prints.
type Output struct {
	// Out is the file of the result. Force replaces output files that exist.
	Out   string
	Force bool
	// SaveFactor stores the Cholesky factor in the model.
	SaveFactor bool
	// JSON prints JSON instead of text. Quiet leaves out notes and progress.
	JSON, Quiet bool
}

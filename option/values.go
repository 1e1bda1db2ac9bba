package option

import (
	"gpfit/compare"
	"gpfit/compare/shrinkage"
	"gpfit/fit"
	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/internal/textform"
	"gpfit/method/experts"
)

// Values are the options of the library that the table sets, and the options of the
// program. A command or a batch uses the part that it needs.
type Values struct {
	// Data describes how to read a training table, Rows how to read a table for a model.
	Data dataset.Options
	Rows dataset.RowOptions
	// Fit describes the model and how to tune it.
	Fit problem.Options
	// CrossValidate requests the scores that CrossValidation describes.
	CrossValidate   bool
	CrossValidation problem.CrossValidation
	// Select describes how to compare kernels.
	Select fit.SelectOptions
	// Compare describes how to compare methods.
	Compare compare.Options
	// Path describes the weights of simpler regressions by their penalty.
	Path shrinkage.Options
	// Profile describes the curves, the contour or the fits of a profile.
	Profile fit.ProfileOptions
	// Predict selects predictions, joint draws and covariances. PosteriorDraws is the largest
	// number of draws of the parameters to average over, and Combine replaces the rule by
	// which the local experts of a model predict.
	Predict        columns.Predict
	PosteriorDraws int
	Combine        experts.Rule
	// Target is the target of a model that has several, and From the file of a model that a
	// fit starts from. Retune tunes the parameters of an updated model.
	Target, From string
	Retune       bool
	Kernel       covarianceValues
	Sample       sampleValues
	Bench        benchValues
	Compute      Compute
	Run          runValues
	Slurm        Slurm
	Output       Output
	Plot         plotValues
	// Version prints the version.
	Version bool
}

// covarianceValues describe what to show or check of a covariance function.
type covarianceValues struct {
	// Points and Columns are the numbers of points and of their columns, and Along is the
	// index of the column that changes.
	Points, Columns, Along int
	// Range is the range of that column, lower and upper end; nil for one that suits.
	Range []float64
	// Draws and Seed describe what is random.
	Draws int
	Seed  uint64
	// Matrix and Table are files of values, whose relative rounding error is Tolerance.
	Matrix, Table string
	Tolerance     float64
}

// sampleValues describe a distribution to draw from.
type sampleValues struct {
	// Prior is a covariance function in place of a model, whose prior Unconditional selects.
	Prior         string
	Unconditional bool
	// Grid are the values of one feature.
	Grid []float64
}

// benchValues describe measurements.
type benchValues struct {
	// Rows are the numbers of rows of Table, or of a synthetic table with Columns columns.
	Rows    []int
	Table   string
	Columns int
	// Repeat is the number of evaluations.
	Repeat int
}

// plotValues describe a picture.
type plotValues struct {
	// Path, Sizes and Errors are the files, and Title and Size replace the program's choice.
	Path, Sizes, Errors, Page, Title string
	Size                             textform.Size
	// By is the feature along which to show rows, and Columns are the columns to show.
	By      string
	Columns []string
}

// Compute describes where to compute.
type Compute struct {
	// Device is "auto", a name, or several names separated by commas. Fallback is the device to
	// take if Device is not available, is lost or is too small; empty for none.
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
	// Calibrate measures again from which size on an accelerator is faster. Test compares
	// devices at Sizes of problems.
	Calibrate, Test bool
	Sizes           []int
}

// runValues describe how to run the jobs of a batch.
type runValues struct {
	// Cores and Memory bound the jobs that run side by side, and JobsPerDevice the jobs
	// that share an accelerator.
	Cores, JobsPerDevice int
	Memory               int64
	// Shard is the share of this process, a text such as 0/4. Worker shares the jobs with
	// other processes, and Wait waits for theirs.
	Shard        string
	Worker, Wait bool
	// OnSlurm submits the jobs. Dry only shows them.
	OnSlurm, Dry bool
	// AllowChanged accepts changed inputs, and RetryFailed repeats failed jobs.
	AllowChanged, RetryFailed bool
}

// Slurm holds options of sbatch, from a batch spec or from the flags --slurm-…, which
// override the spec's.
type Slurm struct {
	Partition string `yaml:"partition,omitempty" json:"partition,omitempty"`
	Gres      string `yaml:"gres,omitempty" json:"gres,omitempty"`
	Time      string `yaml:"time,omitempty" json:"time,omitempty"`
	// Tasks is the number of tasks of the job array; the default is one task per job,
	// but no more than 8.
	Tasks int `yaml:"tasks,omitempty" json:"tasks,omitempty"`
	// CPUs is the number of CPUs per task; the default is the largest number of threads of a job.
	CPUs int `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	// Ranks is the number of processes of a task, over which the method mpi divides the matrix of a job, and Nodes the
	// number of nodes that they are on; 0 means one.
	Ranks   int    `yaml:"ranks,omitempty" json:"ranks,omitempty"`
	Nodes   int    `yaml:"nodes,omitempty" json:"nodes,omitempty"`
	Memory  string `yaml:"memory,omitempty" json:"memory,omitempty"`
	Account string `yaml:"account,omitempty" json:"account,omitempty"`
	QOS     string `yaml:"qos,omitempty" json:"qos,omitempty"`
	// Wait makes every task wait until the whole run is done, and continue the jobs of
	// tasks that die.
	Wait bool `yaml:"wait,omitempty" json:"wait,omitempty"`
	// Options are other options of sbatch, such as "--exclude=node7".
	Options []string `yaml:"options,omitempty" json:"options,omitempty"`
}

// Output describes where results go, and what gpfit prints.
type Output struct {
	// Out is the file of the result. Force replaces output files that exist.
	Out   string
	Force bool
	// SaveFactor stores the Cholesky factor in the model.
	SaveFactor bool
	// Format is the format of the result, "" for what suits the file.
	Format string
	// Draws, Page and Graph are further files of a fit or an evaluation.
	Draws, Page, Graph string
	// Models is the folder of the models of a comparison, and Model the job of a batch whose model is wanted.
	Models, Model string
	// JSON prints JSON instead of text. Quiet leaves out notes and progress.
	JSON, Quiet bool
}

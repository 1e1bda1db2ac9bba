package option

// runOptions are the options of commands that run the jobs of a batch.
func runOptions() Entries {
	batch, resume := []string{"batch"}, []string{"resume"}
	both := in(batch, "resume")
	return Entries{
		{Name: "dry-run", Kind: Truth, Group: Running, Field: "Run.Dry", Places: scored,
			Help: "print which methods can compute this, with the memory and time of each and of the models of a fit, and compute nothing"},
		{Name: "out", Kind: File, Group: Running, Field: "Output.Out", Places: batch, Placeholder: "DIRECTORY", Unset: "the name of SPEC with .run, in the current folder",
			Help: "run directory"},
		{Name: "dry-run", Kind: Truth, Group: Running, Field: "Run.Dry", Places: batch,
			Help: "print the jobs with their memory, operations and expected time, with option engine slurm also its script and command, and run nothing"},
		{Name: "allow-changed", Kind: Truth, Group: Running, Field: "Run.AllowChanged", Places: resume,
			Rules: []Constraint{{Excludes: []string{"worker", "shard"}, Text: "option allow-changed is for one process: resume without option worker and option shard first"}},
			Help:  "accept a changed spec or changed data, and repeat the jobs that the change affects"},
		{Name: "retry-failed", Kind: Truth, Group: Running, Field: "Run.RetryFailed", Places: resume,
			Help: "try all failed jobs again"},
		{Name: "worker", Kind: Truth, Group: Running, Field: "Run.Worker", Places: resume,
			Help: "share the run with other workers: take jobs that no worker has claimed"},
		{Name: "cores", Kind: Whole, Group: Running, Field: "Run.Cores", Places: both, Most: maxWorkers, Unset: "all cores",
			Help: "number of CPU cores, and largest number of jobs that run side by side"},
		{Name: "memory", Kind: Memory, Group: Running, Field: "Run.Memory", Places: both, Placeholder: "16GiB", Unset: "90 % of the free memory",
			Help: "the most host memory that running jobs may plan for, such as 16GiB"},
		{Name: "gpu-jobs", Kind: Whole, Group: Running, Field: "Run.JobsPerDevice", Places: both, Unset: "as many as keep it busy: 12,000 rows in all, 16 jobs at most", Least: 1, Most: maxWorkers,
			Help: "number of jobs that may share a GPU, if its memory allows"},
		{Name: "shard", Kind: Text, Group: Running, Field: "Run.Shard", Places: both, Placeholder: "i/N",
			Rules: []Constraint{{Excludes: []string{"engine=slurm"}, Text: "option engine slurm distributes the jobs itself: leave out option shard"}},
			Help:  "run only shard i/N of the jobs, i from 0; auto or auto/N takes i from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX"},
		{Name: "wait", Kind: Truth, Group: Running, Field: "Run.Wait", Places: both,
			Help: "wait for the jobs of other processes of the run, and continue these jobs if the processes die"},
		{Name: "engine", Kind: Choice, Group: Cluster, Field: "Run.OnSlurm", Places: both, Default: "local", Words: []string{"local", "slurm"},
			Help: "where the jobs run: on this machine, or on Slurm as a job array"},
		sbatch("slurm-partition", "sbatch --partition", "Slurm.Partition"),
		sbatch("slurm-gres", "sbatch --gres, such as gpu:1", "Slurm.Gres"),
		sbatch("slurm-time", "sbatch --time", "Slurm.Time"),
		{Name: "slurm-mem", Kind: Text, Group: Cluster, Field: "Slurm.Memory", Places: both, Placeholder: "TEXT", Unset: "what the plans of the jobs need in a task, a quarter more, and 512 MiB",
			Help: "sbatch --mem"},
		sbatch("slurm-account", "sbatch --account", "Slurm.Account"),
		sbatch("slurm-qos", "sbatch --qos", "Slurm.QOS"),
		{Name: "slurm-tasks", Kind: Whole, Group: Cluster, Field: "Slurm.Tasks", Places: both, Most: maxWorkers, Unset: "one task per job, at most 8",
			Help: "number of tasks of the job array"},
		{Name: "slurm-cpus", Kind: Whole, Group: Cluster, Field: "Slurm.CPUs", Places: both, Most: maxWorkers, Unset: "the largest number of threads of a job",
			Help: "number of CPUs per task, of each rank with option slurm-ranks"},
		{Name: "slurm-ranks", Kind: Whole, Group: Cluster, Field: "Slurm.Ranks", Places: both, Most: maxWorkers, Unset: "one process",
			Help: "number of processes of a task, over which the method mpi divides the matrix of each job (sbatch --ntasks)"},
		{Name: "slurm-nodes", Kind: Whole, Group: Cluster, Field: "Slurm.Nodes", Places: both, Most: maxWorkers, Unset: "one node",
			Help: "number of nodes of the ranks of a task (sbatch --nodes)"},
		{Name: "slurm-option", Kind: Texts, Group: Cluster, Field: "Slurm.Options", Places: both, Placeholder: "TEXT",
			Help: "another option for sbatch, such as --exclude=node7"},
	}
}

// sbatch returns an option that goes to sbatch as it is.
func sbatch(name, help, field string) Option {
	return Option{Name: name, Kind: Text, Group: Cluster, Field: field, Places: []string{"batch", "resume"}, Placeholder: "TEXT", Help: help}
}

package option

// runOptions are the options of commands that run the jobs of a batch.
func runOptions() Entries {
	batch, resume := []string{"batch"}, []string{"resume"}
	both := in(batch, "resume")
	return Entries{
		{Name: "out", Kind: File, Group: Running, Places: batch, Placeholder: "DIRECTORY", Unset: "the name of SPEC with .run, in the current folder",
			Help: "run directory", Assign: into(func(v *Values) *string { return &v.Output.Out })},
		{Name: "dry-run", Kind: Truth, Group: Running, Places: batch,
			Help:   "print the jobs with their memory, operations and expected time, with option engine slurm also the script and the command that submits it, and run nothing",
			Assign: into(func(v *Values) *bool { return &v.Run.Dry })},
		{Name: "allow-changed", Kind: Truth, Group: Running, Places: resume,
			Rules:  []Constraint{{Excludes: []string{"worker", "shard"}, Text: "option allow-changed is for one process: resume without option worker and option shard first"}},
			Help:   "accept a changed spec or changed data, and repeat the jobs that the change affects",
			Assign: into(func(v *Values) *bool { return &v.Run.AllowChanged })},
		{Name: "retry-failed", Kind: Truth, Group: Running, Places: resume,
			Help:   "try all failed jobs again",
			Assign: into(func(v *Values) *bool { return &v.Run.RetryFailed })},
		{Name: "worker", Kind: Truth, Group: Running, Places: resume,
			Help:   "share the run with other workers: take jobs that no worker has claimed",
			Assign: into(func(v *Values) *bool { return &v.Run.Worker })},
		{Name: "cores", Kind: Whole, Group: Running, Places: both, Most: maxWorkers, Unset: "all cores",
			Help:   "number of CPU cores, and largest number of jobs that run side by side",
			Assign: into(func(v *Values) *int { return &v.Run.Cores })},
		{Name: "memory", Kind: Memory, Group: Running, Places: both, Placeholder: "16GiB", Unset: "90 % of the free memory",
			Help:   "the most host memory that running jobs may plan for, such as 16GiB",
			Assign: into(func(v *Values) *int64 { return &v.Run.Memory })},
		{Name: "gpu-jobs", Kind: Whole, Group: Running, Places: both, Default: "1", Least: 1, Most: maxWorkers,
			Help:   "number of jobs that may share a GPU, if its memory allows",
			Assign: into(func(v *Values) *int { return &v.Run.JobsPerDevice })},
		{Name: "shard", Kind: Text, Group: Running, Places: both, Placeholder: "i/N",
			Rules:  []Constraint{{Excludes: []string{"engine=slurm"}, Text: "option engine slurm distributes the jobs itself: leave out option shard"}},
			Help:   "run only shard i/N of the jobs, i from 0; auto or auto/N takes i from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
			Assign: into(func(v *Values) *string { return &v.Run.Shard })},
		{Name: "wait", Kind: Truth, Group: Running, Places: both,
			Help:   "wait for the jobs of other processes of the run, and continue these jobs if the processes die",
			Assign: into(func(v *Values) *bool { return &v.Run.Wait })},
		{Name: "engine", Kind: Choice, Group: Cluster, Places: both, Default: "local", Words: []string{"local", "slurm"},
			Help:   "where the jobs run: on this machine, or on Slurm as a job array",
			Assign: func(v *Values, value any) { v.Run.OnSlurm = value == "slurm" }},
		sbatch("slurm-partition", "sbatch --partition", func(s *Slurm) *string { return &s.Partition }),
		sbatch("slurm-gres", "sbatch --gres, such as gpu:1", func(s *Slurm) *string { return &s.Gres }),
		sbatch("slurm-time", "sbatch --time", func(s *Slurm) *string { return &s.Time }),
		sbatch("slurm-mem", "sbatch --mem", func(s *Slurm) *string { return &s.Memory }),
		sbatch("slurm-account", "sbatch --account", func(s *Slurm) *string { return &s.Account }),
		sbatch("slurm-qos", "sbatch --qos", func(s *Slurm) *string { return &s.QOS }),
		{Name: "slurm-tasks", Kind: Whole, Group: Cluster, Places: both, Most: maxWorkers, Unset: "one task per job, at most 8",
			Help:   "number of tasks of the job array",
			Assign: into(func(v *Values) *int { return &v.Slurm.Tasks })},
		{Name: "slurm-cpus", Kind: Whole, Group: Cluster, Places: both, Most: maxWorkers, Unset: "the largest number of threads of a job",
			Help:   "number of CPUs per task",
			Assign: into(func(v *Values) *int { return &v.Slurm.CPUs })},
		{Name: "slurm-option", Kind: Texts, Group: Cluster, Places: both, Placeholder: "TEXT",
			Help:   "another option for sbatch, such as --exclude=node7",
			Assign: into(func(v *Values) *[]string { return &v.Slurm.Options })},
	}
}

// sbatch returns an option that goes to sbatch as it is.
func sbatch(name, help string, at func(*Slurm) *string) Option {
	return Option{Name: name, Kind: Text, Group: Cluster, Places: []string{"batch", "resume"}, Placeholder: "TEXT", Help: help,
		Assign: into(func(v *Values) *string { return at(&v.Slurm) })}
}

// maxWorkers bounds the numbers of cores, jobs and tasks; a larger one is a mistake.
const maxWorkers = 100_000

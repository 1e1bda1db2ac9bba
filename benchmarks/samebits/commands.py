"""The commands of a recording, each with a short name.

An entry is a name and the steps that run one after another in a fresh folder. A step
is a command line of gpfit without its first word, with the quoting of a shell. It has
no other shell syntax except

    NAME=value     variables in front
    < FILE         standard input at the end
    @NAME          a file that inputs.py wrote
    #PATTERN       files that are recorded but not compared (at the end)

or one of the helpers of record.py:

    !keep-lines FILE N        leaves the first N lines
    !damage-line FILE N       changes a digit of line N
    !copy FROM TO             copies a file
    !interrupt FILE N COMMAND sends SIGINT as soon as FILE, which may be a
                              pattern, has N lines. Of the outputs it keeps only
                              the exit code, because the place where it stops differs
    !know-crossover N         writes the cache that "gpfit devices --calibrate" leaves

`needs` names what an entry requires: "shared" for the data sets of the folder --shared,
"emulator" for the emulated GPU. The variables of every command are in record.py: the
CPU, two threads.
"""

ENTRIES = []


def entry(name, *steps, needs=""):
    ENTRIES.append((name, steps, needs))


CO2 = "fit @co2.csv --out m.gpfit"
FEW = "fit @few.csv --out m.gpfit"
WAVES = "fit @waves.csv --target a --features x,z --out m.gpfit"
LINE = "fit @line.csv --target y --features x --out m.gpfit"
T = "fit @t.csv --out m.gpfit"

# --- Texts -------------------------------------------------------------------

entry("help", "", "help", "--help")
for command in ["fit", "nlml", "predict", "sample", "loo", "select", "compare", "profile", "update", "export", "batch", "resume", "show",
                "report", "inspect", "kernel", "bench", "devices", "weights", "version", "completion"]:
    entry(f"help-{command}", f"help {command}")
entry("version", "version", "version --json")
for shell in ["bash", "zsh", "fish", "powershell"]:
    entry(f"completion-{shell}", f"completion {shell}")
entry("complete-values", "__complete fit --kernel ''", "__complete fit --optimizer ''", "__complete fit --coarse ''",
      "__complete nlml --standardize ''", "__complete export --format ''", "__complete ''", "__complete fit --no")
entry("devices", "devices --device cpu", "devices --json --device cpu", "devices --device auto", "devices --device tpu",
      "devices --calibrate --device cpu")

# --- Kernels -----------------------------------------------------------------

for name, kernel in {
    "rbf": "rbf", "matern12": "matern12", "matern32": "matern32", "matern52": "matern52", "rq": "rq",
    "periodic": "periodic(period=1.5)", "linear": "linear", "poly": "poly(2)", "cosine": "cosine", "constant": "constant + rbf",
}.items():
    entry(f"kernel-{name}", f"{CO2} --kernel '{kernel}' --max-evals 12 --json --std-errors",
          "predict m.gpfit @co2_new.csv --gradient --terms", f"nlml @co2.csv --kernel '{kernel}'")
entry("kernel-ard", f"{CO2} --kernel 'rbf(ard)' --split-mask @co2_mask.csv:1", "predict m.gpfit @co2_new.csv")
entry("kernel-ard-flag", f"{CO2} --kernel 'matern52 + rq' --ard --max-evals 10 --json")
entry("kernel-ard-each", *[f"nlml @few.csv --kernel '{k}(ard)' --json" for k in
                           ["rbf", "matern12", "matern32", "matern52", "rq", "periodic", "linear", "cosine"]],
      "nlml @few.csv --kernel 'poly(3)' --json")
entry("kernel-dims", f"{CO2} --kernel 'rbf(dims=0) + matern32(dims=[1, 2], ard)' --max-evals 10 --json",
      "predict m.gpfit @co2_new.csv --terms --gradient")
entry("kernel-sum-product", f"{CO2} --features year --kernel 'rbf + rbf*periodic(period=0.0794) + rq' --max-evals 30 --split-mask @co2_mask.csv:1",
      "predict m.gpfit @co2_new.csv --terms --json")
entry("kernel-nested", "nlml @co2.csv --kernel '(rbf + linear)*(cosine(ard) + constant)*matern12' --json")
entry("kernel-all", "nlml @co2.csv --kernel 'rq + periodic*cosine(ard) + linear(ard) + linear + poly(3) + constant'")
entry("kernel-book", """fit @co2.csv --features year --standardize none --mean constant --kernel
      'rbf(lengthscale=67, signal_variance=4356) + rbf(lengthscale=90, signal_variance=5.76)*periodic(lengthscale=1.3, period=1)
      + rq(lengthscale=1.2, alpha=0.78, signal_variance=0.4356) + rbf(lengthscale=0.134, signal_variance=0.0324)'
      --set noise_variance=0.0361 --max-evals 15 --out m.gpfit""", "predict m.gpfit @co2_new.csv --plot f.svg", "loo m.gpfit --json")
entry("graph", "nlml @few.csv --kernel 'matern32(ard) + rbf' --mean linear --graph g.dot",
      "nlml @few.csv --kernel 'rbf*periodic' --prior 'k1.lengthscale=gamma(2, 1)' --graph g2.dot --json")

# --- Means, noise, priors, ties ----------------------------------------------

for name, mean in {"constant": "constant", "linear": "linear", "poly": "poly(2)", "bumps": "bumps(3)",
                   "sum": "linear(dims=1) + bumps(3, dims=0)"}.items():
    entry(f"mean-{name}", f"{WAVES} --mean '{mean}' --json --split-mask @waves.csv:test", "predict m.gpfit @waves.csv --terms --gradient",
          f"nlml @waves.csv --target a --features x,z --mean '{mean}'", "loo m.gpfit --json", "export m.gpfit")
entry("mean-free", f"{WAVES} --mean linear --mean-fit free", "predict m.gpfit @waves.csv --terms")
entry("mean-free-named", f"{WAVES} --mean 'poly(2)' --fix mean_constant=0.1 --prior 'mean_power[0,2]=normal(0, 0.5)' --json --std-errors",
      "predict m.gpfit @waves.csv --draws 1", "predict m.gpfit @t_new.csv --features x,x", "predict m.gpfit @t_new.csv --features 0")
entry("mean-collinear", "nlml @line.csv --target y --features x,double --mean linear")
entry("noise-none", f"{LINE} --kernel matern12 --noise none", "predict m.gpfit @line.csv", "loo m.gpfit")
entry("noise-none-repeated-rows", "fit @twice.csv --kernel matern12 --noise none --out m.gpfit")
entry("noise-group", f"{WAVES} --noise-group lab --json --std-errors", "predict m.gpfit @waves.csv --json", "sample m.gpfit @waves.csv --observed --seed 4")
entry("noise-column", f"{WAVES} --noise-column v", "predict m.gpfit @waves.csv")
entry("noise-column-none", f"{WAVES} --noise-column v --noise none --mean constant --json", "predict m.gpfit @waves.csv", "loo m.gpfit --json")
entry("noise-both", f"{LINE} --noise-column v --noise-group lab --mean linear --json", "predict m.gpfit @line_new.csv",
      "predict m.gpfit - --quiet < @line_new.csv", "predict m.gpfit @line_plain.csv", "predict m.gpfit @line_plain.csv --noise-group-default left",
      "predict m.gpfit @line_other.csv", "predict m.gpfit @line_other.csv --noise-group-default left", "export m.gpfit")
for name, prior in {
    "lognormal": "--prior 'lengthscale=lognormal(0, 1)'", "gamma": "--prior 'lengthscale=gamma(3, 6)'",
    "halfnormal": "--prior 'noise_variance=halfnormal(0.1)'", "uniform": "--prior 'lengthscale=uniform(0.1, 3)'",
    "smoothedbox": "--prior 'lengthscale=smoothedbox(0.5, 2, 0.1)'", "normal": "--mean constant --mean-fit free --prior 'mean_constant=normal(0, 1)'",
}.items():
    entry(f"prior-{name}", f"{T} {prior} --json", f"nlml @t.csv {prior}")
entry("prior-several", f"{CO2} --kernel 'rbf(ard)' --prior 'lengthscale=gamma(3, 6)' --prior 'noise_variance=lognormal(-4, 0.5)' --std-errors")
entry("prior-wrong", "fit @t.csv --prior 'lengthscale=gama(3, 6)'", "fit @t.csv --prior 'lenthscale=gamma(3, 6)'",
      "fit @t.csv --prior 'lengthscale=normal(3, 6)'", "fit @t.csv --prior lengthscale")
entry("ties", f"{CO2} --kernel 'rbf + matern32' --tie k2.lengthscale=k1.lengthscale --max-evals 20 --json", "predict m.gpfit @co2_new.csv --terms",
      f"{T} --tie lengthscale=lengthscale")
entry("set-fix-bounds", f"{CO2} --kernel 'rbf(ard)' --set 'lengthscale[0]=0.7' --fix noise_variance=0.001 --bounds signal_variance=0.1:2 --bounds 'lengthscale=0.2:9'")
entry("fix-all", f"{T} --fix lengthscale=1 --fix signal_variance=1 --fix noise_variance=0.1 --json")
entry("fix-at-start", f"{T} --fix noise_variance")

# --- Targets, standard errors, scores ----------------------------------------

entry("targets", "fit @waves.csv --target a,b --features x,z --mean linear --json --out m.gpfit", "predict m.gpfit @waves.csv --draws 1 --gradient --cov cov.npy",
      "predict m.gpfit @waves.csv --json", "loo m.gpfit --target b", "loo m.gpfit", "export m.gpfit --target a", "sample m.gpfit @waves.csv --target a --draws 2")
entry("targets-text", "fit @targets.csv --target a,b --mean linear --out m.gpfit", "nlml @targets_gap.csv --target a,b", "nlml @targets_gap.csv --target a,b --missing drop")
entry("targets-groups", "fit @waves.csv --target a,b --features x,z --noise-group lab --std-errors --out m.gpfit")
entry("targets-held-out", "fit @waves.csv --target a,b --features x,z --split-mask @waves.csv:test --restarts 1 --out m.gpfit --json")
entry("std-errors", f"{T} --std-errors --fix noise_variance=0.01", f"{T} --std-errors --fix noise_variance=0.01 --json")
entry("std-errors-co2", f"{CO2} --kernel 'rbf(ard)' --std-errors --json")
entry("scores", "nlml @t.csv --scores loo,cv --folds 4", "nlml @t.csv --scores loo,cv --folds 4 --json", f"{T} --scores cv --folds 4 --refit",
      "nlml @t.csv --scores loa", "nlml @t.csv --folds 3")
entry("scores-co2", f"{CO2} --scores loo,cv --folds 5 --fold-seed 3 --max-evals 10 --json")
entry("scores-mean-groups", f"{WAVES} --mean linear --noise-group lab --scores loo,cv --folds 3 --refit --json")
entry("objective-loo", f"{CO2} --objective loo --max-evals 25 --json", f"{T} --objective loo --prior 'noise_variance=gamma(2, 20)'",
      "nlml @co2.csv --objective loo --mean linear --json")
entry("objective-loo-rmse", f"{CO2} --objective loo-rmse --max-evals 10 --json", "nlml @waves.csv --target a,b --features x,z --objective loo-rmse --json")
entry("objective-cv", *[f"nlml @{data} --folds 4 --json --objective {objective}" for data in ["co2.csv", "waves.csv --target a,b --features x,z --mean linear --noise-group lab"]
                        for objective in ["cv", "cv-rmse"]],
      "nlml @co2.csv --objective cv --folds 5 --blocks", f"{FEW} --objective cv --folds 3 --max-evals 10 --json", "predict m.gpfit @co2_new.csv",
      f"{FEW} --objective cv-rmse --kernel 'rbf(ard)' --folds 3 --max-evals 10", f"{T} --objective cv --folds 10000", f"{T} --objective cv --folds 3 --std-errors")
entry("objective-loo-wrong", f"{T} --objective mse", f"{T} --objective loo --std-errors")

# --- Tuning ------------------------------------------------------------------

entry("restarts-3", f"{CO2} --kernel 'rbf(ard)' --restarts 3 --json")
entry("restarts-5-tiny", f"{T} --restarts 5 --seed 7")
entry("restarts-5-coarse-off", f"{FEW} --kernel 'rbf(ard)' --restarts 5 --coarse off")
entry("restarts-race", f"{CO2} --kernel 'rbf + rbf*periodic' --features year --restarts 5 --max-evals 40 --seed 2 --json")
entry("coarse-on", f"{CO2} --coarse on --restarts 2", "fit @co2.csv --coarse on --json --quiet --out j.gpfit")
entry("threads", f"{CO2} --threads 1 --max-evals 10 --json", "nlml @co2.csv --threads 2 --json", "nlml @co2.csv --threads 4 --json")
entry("cpu-avx2", f"GPFIT_CPU=avx2 {CO2} --kernel 'rbf(ard) + matern32' --max-evals 10 --json", "GPFIT_CPU=avx2 predict m.gpfit @co2_new.csv")
entry("cpu-generic", f"GPFIT_CPU=generic {FEW} --kernel 'rbf(ard) + matern32' --max-evals 10 --json", "GPFIT_CPU=generic predict m.gpfit @co2_new.csv",
      "GPFIT_CPU=best nlml @t.csv")
entry("kin40k-coarse", "fit @kin40k.csv --subsample 2000 --max-evals 12 --out m.gpfit --json", "predict m.gpfit @kin40k.csv", "loo m.gpfit --json", needs="shared")
entry("kin40k-coarse-off", "fit @kin40k.csv --subsample 2000 --coarse off --kernel matern32 --max-evals 4 --out m.gpfit", needs="shared")
entry("kin40k-restarts", "fit @kin40k.csv --subsample 2000 --restarts 3 --seed 5 --max-evals 12 --out m.gpfit --json", needs="shared")
entry("elevators-restarts-5", "fit @elevators.csv --restarts 5 --max-evals 4 --subsample 2000 --out m.gpfit --json", needs="shared")
entry("elevators-mean", "nlml @elevators.csv --mean linear --ard --json", needs="shared")
entry("snelson", "fit @snelson.csv --out m.gpfit --std-errors --scores loo,cv --restarts 3", "predict m.gpfit @snelson_new.csv --gradient --plot f.svg",
      "sample m.gpfit @snelson_new.csv --draws 3 --seed 2", "loo m.gpfit --out loo.csv", needs="shared")
entry("yacht", "fit @yacht.csv.gz --header no --split-mask @yacht_mask.csv.gz:0 --kernel 'matern52(ard)' --json --out m.gpfit", "loo m.gpfit --json", needs="shared")
entry("yacht-select", "select @yacht.csv.gz --kernels 'rbf(ard)' --kernels 'linear + matern32' --max-evals 30 --score loo --json --out m.gpfit", needs="shared")
entry("concrete", "fit @concrete.csv.gz --split-mask @concrete_mask.csv.gz:0 --kernel 'rbf(ard)' --mean constant --json --out m.gpfit", "predict m.gpfit @concrete.csv.gz", needs="shared")
entry("airfoil", "fit @airfoil.csv.gz --split-mask @airfoil_mask.csv.gz:0 --ard --max-evals 10 --out m.gpfit", needs="shared")
entry("energy", "fit @energy.csv.gz --split-mask @energy_mask.csv.gz:0 --ard --restarts 3 --max-evals 25 --json --out m.gpfit", needs="shared")

# --- Bounds so wide that no parameter comes near one --------------------------

WIDE = " ".join(f"--bounds {name}=1e-12:1e12" for name in
                ["k1.lengthscale", "k2.lengthscale", "k1.signal_variance", "k2.signal_variance", "noise_variance"])
entry("wide-ard-flag", f"{CO2} --kernel 'matern52 + rq' --ard --max-evals 40 --bounds k2.alpha=1e-12:1e12 {WIDE} --json")
entry("wide-sum", f"{CO2} --features year --kernel 'rbf + matern32' {WIDE} --restarts 4 --json")
entry("wide-energy", f"fit @energy.csv.gz --kernel 'rbf + matern32' --ard {WIDE} --coarse on --max-evals 40 --json --out m.gpfit", needs="shared")

# --- Checkpoints -------------------------------------------------------------

LOG = "fit @co2.csv --kernel 'rbf(ard)' --coarse on --restarts 2 --checkpoint ck"
entry("checkpoint", f"{LOG} --out whole.gpfit --json", "!copy whole.gpfit before.gpfit", f"{LOG} --out /dev/full --json", "!copy ck whole.ck",
      "!keep-lines ck 9", f"{LOG} --out cut.gpfit --json", "!copy whole.ck ck", f"{LOG} --out all.gpfit --json",
      "!copy whole.ck ck", "!damage-line ck 5", f"{LOG} --out damaged.gpfit", "!copy whole.ck ck",
      "fit @co2.csv --checkpoint ck --out other.gpfit")
entry("checkpoint-mean", f"{WAVES} --mean 'linear + bumps(3)' --noise-group lab --restarts 1 --checkpoint ck --out /dev/full", "!copy ck whole.ck",
      "!keep-lines ck 12", f"{WAVES} --mean 'linear + bumps(3)' --noise-group lab --restarts 1 --checkpoint ck")
entry("checkpoint-none", "!copy ../../in/t.csv ck", f"{CO2} --checkpoint ck", f"{CO2} --checkpoint nowhere/ck")
entry("interrupt", "!interrupt ck 6 fit @long.csv --ard --coarse off --max-evals 12 --checkpoint ck --out m.gpfit",
      "fit @long.csv --ard --coarse off --max-evals 12 --checkpoint ck --out m.gpfit --json", "predict m.gpfit @long.csv")

# --- Failures of the covariance ----------------------------------------------

SINGULAR = "nlml @t.csv --set lengthscale=1e10 --set noise_variance=1e-300"
entry("not-positive-definite", SINGULAR, f"{SINGULAR} --json", "fit @t.csv --set lengthscale=1e10 --fix noise_variance=1e-300 --out m.gpfit")
entry("jitter", f"{SINGULAR} --max-jitter 1e-6 --json", f"{SINGULAR} --max-jitter 1e-18",
      "fit @twice.csv --kernel rbf --fix noise_variance=1e-18 --max-jitter 1e-4 --out m.gpfit --json", "predict m.gpfit @t_new.csv", "loo m.gpfit")
entry("too-large", "sample --prior rbf --grid 0:1:3000000", "sample --prior rbf --grid 0:1:3 --draws 1000000000000000")

# --- Predictions, samples, weights, export -----------------------------------

FIT = f"{CO2} --kernel 'rbf(ard) + linear' --max-evals 20 --quiet"
entry("predict", FIT, "predict m.gpfit @co2_new.csv", "predict m.gpfit @co2_new.csv --json", "predict m.gpfit @co2_new.csv --out p.csv",
      "predict m.gpfit - < @co2_new.csv", "predict m.gpfit @co2.csv --quiet", "predict m.gpfit @co2_new.csv --features 0,1,2 --threads 1")
entry("predict-intervals", FIT, "predict m.gpfit @co2_new.csv --interval 0.9", "predict m.gpfit @co2_new.csv --interval 0.5 --json", "predict m.gpfit @co2_new.csv --interval 90")
entry("predict-gradient-terms", FIT, "predict m.gpfit @co2_new.csv --gradient --terms", "predict m.gpfit @co2_new.csv --gradient --terms --json")
entry("predict-draws-covariance", FIT, "predict m.gpfit @co2_new.csv --draws 3 --seed 3 --cov c.csv", "predict m.gpfit @co2_new.csv --observed --cov c.npy --draws 1",
      "predict m.gpfit @co2_new.csv --cov c.npz --json", "predict m.gpfit @co2_new.csv --cov c.txt")
entry("predict-plot", FIT, "predict m.gpfit @co2_new.csv --plot f.svg --interval 0.9", "predict m.gpfit @co2_new.csv --plot f.png --plot-by season_sin",
      "predict m.gpfit @co2_new.csv --plot f.pdf", "predict m.gpfit @co2_new.csv --plot g.svg --plot-by yaer", "predict m.gpfit @co2_new.csv --plot-by year")
entry("predict-factor", f"{FIT} --save-factor", "predict m.gpfit @co2_new.csv --gradient", "sample m.gpfit @co2_new.csv")
entry("predict-many-rows", FIT, "predict m.gpfit @co2.csv --out p.csv --cov c.npy")
entry("sample", FIT, "sample m.gpfit @co2_new.csv --draws 5 --seed 7", "sample m.gpfit @co2_new.csv --draws 2 --observed --json --cov c.npz",
      "sample m.gpfit @co2_new.csv --unconditional --draws 2", "sample m.gpfit --prior rbf --grid 0:1:3", "sample m.gpfit")
entry("sample-prior", "sample --prior 'rbf(lengthscale=2) + matern12' --set k2.lengthscale=3 --grid 0:10:101 --draws 4",
      "sample --prior 'rbf(ard)' --set lengthscale=5 @co2_new.csv --set noise_variance=0.5 --observed --json", "sample --prior rbf --grid 0:1:200",
      "sample --prior 'periodic*linear' --grid -1:1:20 --seed 9 --cov c.csv", "sample --prior rbf --grid 0:1", "sample --prior rbf --set lenghtscale=5 --grid 0:1:5")
entry("loo", FIT, "loo m.gpfit --out loo.csv", "loo m.gpfit --json", "loo m.gpfit --quiet --threads 1", "loo m.gpfit --out m.gpfit")
entry("loo-rows", "fit @gaps.csv --missing drop --split-mask @masked.csv:test --out m.gpfit", "loo m.gpfit")
entry("weights", FIT, "weights m.gpfit", "weights m.gpfit --json", "weights m.gpfit --out w.csv", f"{T} --quiet --force", "weights m.gpfit")
entry("weights-linear", f"{CO2} --kernel 'linear(ard)' --json", "weights m.gpfit --json")
entry("export", FIT, "export m.gpfit", "export m.gpfit --format npz --out e.npz", "export m.gpfit --out e.json", "export m.gpfit --format xml", "export @t.csv")
entry("export-kernels", *[step for k in ["rq*periodic", "poly(3) + constant", "cosine(ard)*matern32(dims=0)"]
                          for step in (f"fit @few.csv --kernel '{k}' --max-evals 5 --quiet --force --out m.gpfit", "export m.gpfit")])
entry("select", "select @t.csv --kernels rbf --kernels 'rbf + linear' --folds 4 --out best.gpfit", "select @t.csv --kernels rbf --kernels matern12 --folds 4 --score cv --json",
      "select @t.csv", "select @t.csv --kernels rbf --kernels rfb", "select @t.csv --kernels rbf --folds 20")
entry("select-greedy", "select @few.csv --features year --kernels rbf --kernels periodic --kernels linear --greedy --max-terms 3 --max-evals 15 --folds 4 --json --out m.gpfit",
      "select @few.csv --features year --kernels rbf --kernels linear --greedy --budget 2 --folds 4 --max-evals 15")
entry("select-options", "select @waves.csv --target a --features x,z --kernels rbf --kernels matern52 --ard --mean linear --restarts 1 --refit --folds 3 --split-mask @waves.csv:test --max-evals 20")
entry("bench", "bench --n 50,120 --repeat 1 --json", "bench --data @co2.csv --n 60 --kernel 'rbf(ard)' --repeat 1 --json", "bench --data @targets.csv --target a,b --n 5")

# --- Comparisons, profiles, updates, what a model is --------------------------

PASSENGERS = "@passengers.csv --target fare --features class,sex,age,alone,port,booked --missing drop --max-evals 20"
entry("compare", "compare @few.csv --max-evals 15 --folds 3 --json", f"compare {PASSENGERS} --folds 3 --group port --out c.csv",
      f"compare {PASSENGERS} --holdout 0.3 --json", "compare @few.csv --features year --max-evals 8 --folds 3 --blocks --plot c.svg", "compare @t.csv --folds 100")
entry("profile", "profile @t.csv --along lengthscale --along noise_variance --points 5 --out p.csv --plot p.svg", "profile @few.csv --along noise_variance --max-evals 15 --points 5 --json",
      "profile @few.csv --max-evals 15 --along lengthscale --range lengthscale=0.1:10 --others held --points 5", "profile @t.csv --show contour --points 4 --restarts 2 --json",
      "profile @t.csv --show fits --along lengthscale --along noise_variance --points 2 --plot f.svg --out f.csv", "profile @t.csv --along noise", "profile m.gpfit")
entry("update", f"{FEW} --max-evals 15 --scores loo", "update m.gpfit @co2.csv --out u.gpfit --json", "update m.gpfit @co2.csv --retune --max-evals 8 --out v.gpfit",
      "predict u.gpfit @co2_new.csv", "predict v.gpfit @co2_new.csv", "loo u.gpfit --json", "inspect u.gpfit --json", "update m.gpfit @t.csv")
entry("inspect", f"{WAVES} --mean linear --noise-group lab --scores loo --max-evals 10 --checkpoint ck", "inspect m.gpfit", "inspect m.gpfit --json", "inspect @t.csv",
      f"{WAVES} --max-evals 6 --checkpoint ck2 --out /dev/full", "inspect ck2", "inspect ck2 --json")
entry("passengers", f"fit {PASSENGERS} --holdout 0.2 --out m.gpfit --json", "predict m.gpfit @passengers_new.csv --keep name,fare --missing blank --score",
      *[f"predict m.gpfit @passengers_new.csv {keep} --missing drop --draws 2 --gradient --format {f} --out o.{f}" for keep, f in [("--keep name", "csv"), ("--keep name", "jsonl"), ("", "npy")]],
      f"fit {PASSENGERS} --category-columns codes --kernel 'hamming(dims=[sex, port]) * rbf(dims=[age, booked])' --out c.gpfit", "predict c.gpfit @passengers_new.csv --missing blank")
entry("report", f"fit {PASSENGERS} --scores loo --out m.gpfit", "report m.gpfit", "report m.gpfit @passengers.csv --missing drop --out q.html", "report @t.csv")
entry("kernel-check", "kernel check 'formula(exp(-r/a), a=1)'", "kernel check 'formula(cos(r*r/a), a=1)' --json", "kernel check rbf", "kernel check 'formula(exp(-r/a), b=1)'")
entry("kernel-show", "kernel show rbf", "kernel show", "kernel show 'rbf + periodic' --json", "kernel show rbf --plot k.svg", "kernel show 'matern52*linear' --draws 3 --plot d.svg", "kernel show mattern")

# --- Posterior draws and local experts ---------------------------------------

entry("posterior-laplace", f"{FEW} --posterior laplace --posterior-draws 40 --split-mask @few_mask.csv --json", "predict m.gpfit @co2.csv --score --out p.csv",
      "predict m.gpfit @co2_new.csv --interval 0.5 --json", "predict m.gpfit @co2_new.csv --draws 2", "predict m.gpfit @few.csv --score --json", "report m.gpfit @few.csv --out r.html", "loo m.gpfit --json", "inspect m.gpfit",
      "fit @targets.csv --target a,b --posterior laplace --posterior-draws 20 --json --out b.gpfit", "predict b.gpfit @targets.csv --score --json",
      f"{T} --posterior laplace --objective loo", f"{T} --posterior gibbs")
entry("posterior-hmc", f"{FEW} --posterior hmc --posterior-draws 20 --posterior-warmup 80 --posterior-chains 2 --posterior-out h.json --report h.html",
      "predict m.gpfit @co2_new.csv --json", "predict m.gpfit @few.csv --score --quiet", "sample m.gpfit @co2_new.csv --draws 2", "profile m.gpfit")
EXPERTS = f"{CO2} --experts kmeans:3 --max-evals 12"
entry("experts", f"{EXPERTS} --json", "predict m.gpfit @co2_new.csv", "predict m.gpfit @co2_new.csv --combine nearest --json", "predict m.gpfit @co2.csv --score --out s.csv",
      "inspect m.gpfit --json", "report m.gpfit", "export m.gpfit", "loo m.gpfit", "predict m.gpfit @co2_new.csv --gradient", f"{EXPERTS} --posterior laplace")
entry("experts-noise", "fit @waves.csv --target a --features x,z --experts kmeans:2 --noise-column v --max-evals 5 --json --out w.gpfit", "predict w.gpfit @waves.csv --combine nearest")

# --- Inputs ------------------------------------------------------------------

entry("input-npy", "fit @table.npy --max-evals 10 --out m.gpfit --json", "predict m.gpfit @table_big_fortran.npy")
entry("input-npz", "fit @real_yx.npz --max-evals 10 --out m.gpfit", "predict m.gpfit @real_compressed_fortran.npz", "nlml @real_columns.npz --json")
entry("input-parquet", "fit @whole_uint16.parquet --max-evals 10 --out m.gpfit", "predict m.gpfit @whole_uint16.parquet", "nlml @real_zstd.parquet --json")
entry("input-gzip", "nlml @t.csv.gz --json")
entry("input-folder", "fit @parts", "predict parts.gpfit '../../in/parts/*.csv' --out p.csv", "fit '../../in/parts/[12].csv'")
entry("input-stdin", "nlml - --target y --features x < @t.csv", "fit - < @t.csv", "nlml - < @real_zstd.parquet")
entry("input-separators", "nlml @semicolons.csv", "nlml @tabs.tsv", "nlml @noheader.csv", "nlml @noheader.csv --header yes", "nlml @t.csv --header no")
entry("missing", "nlml @gaps.csv", "nlml @gaps.csv --missing drop --json", "nlml @gaps.csv --features a --json", "nlml @gaps.csv --missing impute")
entry("subsample", "nlml @co2.csv --subsample 50 --seed 3 --json", "fit @co2.csv --subsample 120 --seed 4 --max-evals 10 --split-mask @co2_mask.csv:0 --out m.gpfit", "nlml @t.csv --subsample -1")
entry("split-mask", "fit @masked.csv --target y --split-mask @masked.csv:test --json --out m.gpfit", "fit @masked.csv --target y --subsample 7 --split-mask @masked.csv:2 --json --out m.gpfit",
      "fit @t.csv --split-mask @short_mask.csv --out n.gpfit", "fit @masked.csv --split-mask @masked.csv:tset --out n.gpfit")
for form in ["xy", "x", "y", "none"]:
    entry(f"standardize-{form}", f"{FEW} --standardize {form} --max-evals 15 --json", "predict m.gpfit @co2_new.csv --json")
entry("constant-column", "fit @constant.csv --out m.gpfit", "predict m.gpfit @only_a.csv")
entry("features", "nlml @co2.csv --target 3 --features 0-1 --json", "nlml @co2.csv --target season_sin --features co2,year --json", "nlml @co2.csv --target co2 --features co2 --json")
entry("variables", "GPFIT_STANDARDIZE=none GPFIT_SET=lengthscale=1 nlml @t.csv --json", "GPFIT_STANDARDIZE=none GPFIT_SET=lengthscale=1 nlml @t.csv --json --set lengthscale=2",
      "GPFIT_MAX_EVALS=5 GPFIT_QUIET=true GPFIT_JSON=true GPFIT_OUT=v.gpfit fit @t.csv", "GPFIT_TARGET=nope GPFIT_PRIOR=x GPFIT_SET=y=2 predict v.gpfit @t_new.csv",
      "GPFIT_THREADS=many nlml @t.csv", "GPFIT_KERNEL=matern12 GPFIT_ARD=true nlml @few.csv", "GPFIT_ARD=yes nlml @few.csv")

# --- Mistakes ----------------------------------------------------------------

entry("wrong-command", "fti", "fit", "fit @t.csv @t.csv", "help nope", "predict", "completion tcsh")
entry("wrong-flag", "fit @t.csv --restart 3", "fit @t.csv --restarts x", "fit @t.csv --restarts -1", "fit @t.csv --threads -1", "fit @t.csv --max-jitter -1",
      "fit @t.csv --coarse maybe", "fit @t.csv --optimizer newton", "fit @t.csv --standardize yx", "fit @t.csv --header maybe", "fit @t.csv --noise maybe")
entry("wrong-kernel", "fit @t.csv --kernel 'rbf + mattern32'", "nlml @t.csv --kernel 'rbf('", "nlml @t.csv --kernel 'poly(2.5)'", "nlml @t.csv --kernel 'rbf(dims=4)'",
      "nlml @t.csv --kernel 'linear(ard, signal_variance=2)'", "nlml @t.csv --mean cubic", "nlml @t.csv --mean 'linear + bump(3)'")
entry("wrong-parameter", "fit @t.csv --set lenghtscale=1", "fit @t.csv --set lengthscale", "fit @t.csv --set lengthscale=one", "fit @t.csv --bounds lengthscale=1", "fit @t.csv --fix a=1",
      "fit @t.csv --tie lengthscale", "fit @t.csv --fix noise_variance=0", "nlml @t.csv --mean linear --mean-fit gls --set mean_constant=1")
entry("wrong-data", "fit nofile.csv", "fit @bad.csv", "fit @nan.csv", "fit @ragged.csv", "fit @one.csv", "fit @flat.csv", "fit @t.csv --target z", "fit @t.csv --features x,z",
      "fit @words.npz", "fit @types.parquet", "fit 'nothing-*.csv'", "fit @negative.csv --features x --noise-column v", "nlml @line.csv --target y --features x --noise-group x")
entry("wrong-model", "predict @t.csv @t.csv", "predict nomodel @t.csv", f"{T} --quiet", "predict m.gpfit @targets_gap.csv", "predict m.gpfit @only_a.csv",
      "predict m.gpfit @t.csv --features 0,1", "predict m.gpfit @t_new.csv --out m.gpfit")
entry("wrong-output", "!copy ../../in/t.csv t.csv", "fit @t.csv --out t.csv", "fit @t.csv --out nowhere/m.gpfit", "fit @t.csv --out .", "fit @t.csv --out t.csv --force --quiet", "fit @t.csv --out /dev/full")
entry("wrong-device", "fit @t.csv --device tpu", "fit @t.csv --device cuda:9", "fit @t.csv --device cuda:99 --fallback cpu --json --out m.gpfit", "fit @t.csv --device cuda:99 --fallback tpu",
      "nlml @t.csv --device cpu,cpu", "nlml @t.csv --device auto")

# --- Batches -----------------------------------------------------------------

BATCH = "batch @study.yaml --out b.run --cores 1 --threads 1"
entry("batch", BATCH, "show b.run", "show b.run --format json", "show b.run --format csv", "show b.run --format parquet --out show.parquet #show.parquet",
      "nlml show.parquet --target nlml --features n,d,rmse,nlpd,coverage95,value_evaluations,attempts --missing drop --kernel linear --set noise_variance=1 --json",
      "report b.run", "report b.run --out -", "resume b.run", BATCH, "predict b.run/models/co2.rbf.seed-1.gpfit @co2_new.csv", "show b.run --format cvs")
entry("batch-json", f"{BATCH} --json")
entry("batch-co2", "batch @batch/co2.yaml --out co2.run --cores 1 --device cpu --max-evals 12", "show co2.run")
entry("batch-dry-run", "batch @batch/co2.yaml --dry-run --device cpu", "batch @batch/full.yaml --dry-run --json --device cpu")
entry("batch-shards", f"{BATCH} --shard 0/2", "show b.run", f"{BATCH} --shard 1/2", "show b.run --format json", "show b.run --format csv")
entry("batch-failing", "batch @failing.yaml --out f.run --cores 1", "show f.run", "resume f.run", "resume f.run --retry-failed", "report f.run")
entry("batch-changed", "!copy ../../in/t.csv t.csv", "!copy ../../in/failing.yaml s.yaml", "!copy ../../in/noheader.csv bad.csv", "batch s.yaml --cores 1", "!copy ../../in/line.csv t.csv",
      "resume s.run --cores 1", "!copy ../../in/masked.csv t.csv", "resume s.run --allow-changed --cores 1", "show s.run --format json")
entry("batch-wrong", "batch @typo.yaml", "batch nofile.yaml", "batch @failing.yaml --shard 3/3", "batch @failing.yaml --engine pbs", "batch @failing.yaml --memory lots", "show nothing", "resume nothing",
      "report nothing")
entry("batch-interrupt", "!interrupt l.run/checkpoints/* 6 batch @long.yaml --out l.run --cores 1 --max-evals 8", "resume l.run --cores 1", "show l.run")

# --- The emulated GPU --------------------------------------------------------

GPU = "--device cuda:0"
LOST = "GPFIT_EMU_FAULTS=cuLaunchKernel:400:700"
entry("gpu-devices", "devices --device cuda:0", "devices --json --device cuda:0", "GPFIT_EMU_DEVICES=2 devices --device cuda:1", "GPFIT_EMU_COMPUTE=70 devices --device cpu", needs="emulator")
entry("gpu-nlml", f"nlml @few.csv {GPU} --ard --json", f"nlml @few.csv {GPU} --kernel 'rbf*periodic + rq + matern12 + cosine' --json",
      f"nlml @few.csv {GPU} --kernel 'linear(ard) + poly(3) + constant + matern32*matern52'", f"nlml @few.csv {GPU} --mean linear --objective loo --scores loo,cv --folds 3 --json", needs="emulator")
entry("gpu-fit", f"{FEW} {GPU} --ard --json", f"predict m.gpfit @co2_new.csv {GPU}", f"predict m.gpfit @co2_new.csv {GPU} --gradient --draws 1 --json", f"loo m.gpfit {GPU} --json",
      f"sample m.gpfit @co2_new.csv {GPU} --draws 2", "predict m.gpfit @co2_new.csv", needs="emulator")
entry("gpu-means-noise", *[f"{WAVES.replace('--target a', target)} {GPU} --max-evals 4 --json {options}" for target, options in
                           [("--target a", "--mean 'poly(2) + bumps(3, dims=0)' --noise-column v --noise-group lab"),
                            ("--target a", "--kernel matern12 --noise none --mean constant"), ("--target a,b", "--mean linear --noise-group lab")]],
      f"predict m.gpfit @waves.csv {GPU}", f"loo m.gpfit --target b {GPU}", needs="emulator")
entry("gpu-std-errors", f"{FEW} {GPU} --std-errors --restarts 1 --max-evals 10 --json", needs="emulator")
# Quiet, because the number of evaluations between lines of progress depends on how the two
# GPUs take turns.
entry("gpu-two", f"GPFIT_EMU_DEVICES=2 {FEW} --device cuda:0,cuda:1 --restarts 3 --max-evals 8 --json --quiet", needs="emulator")
entry("gpu-cuda13", "GPFIT_CUDA_LIB={cuda13} GPFIT_EMU_DRIVER=13000 nlml @few.csv --device cuda:0 --json", needs="emulator")
entry("gpu-lost", f"{LOST} {FEW} --ard {GPU}", needs="emulator")
entry("gpu-lost-fallback", f"{LOST} {FEW} --ard {GPU} --fallback cpu --json", "predict m.gpfit @co2_new.csv", needs="emulator")
entry("gpu-lost-checkpoint", f"{LOST} {FEW} --ard {GPU} --checkpoint ck", "!copy ck lost.ck", f"{FEW} --ard {GPU} --checkpoint ck --json", needs="emulator")
entry("gpu-small-memory", f"GPFIT_EMU_MEMORY=20000 {FEW} {GPU}", f"GPFIT_EMU_MEMORY=20000 {FEW} {GPU} --fallback cpu --json", needs="emulator")
entry("gpu-broken", f"GPFIT_EMU_FAULTS=cublasCreate_v2:1:1 nlml @few.csv {GPU}", "GPFIT_EMU_FAULTS=cublasCreate_v2:1:1 nlml @few.csv --device auto --json",
      "GPFIT_EMU_COMPUTE=70 nlml @few.csv --device cuda:0", "GPFIT_EMU_DRIVER=11080 nlml @few.csv --device cuda:0", "GPFIT_EMU_DEVICES=0 nlml @few.csv --device cuda:0", needs="emulator")
entry("gpu-not-positive-definite", f"{SINGULAR} {GPU}", f"{SINGULAR} {GPU} --max-jitter 1e-6 --json", needs="emulator")
entry("gpu-auto", "!know-crossover 70", "nlml @few.csv --device auto --json", "nlml @t.csv --device auto --json", needs="emulator")
entry("gpu-batch", "batch @gpu.yaml --out g.run --cores 1 --threads 1 --device cuda:0", "show g.run --format json", needs="emulator")
entry("gpu-batch-lost", f"{LOST} batch @gpu.yaml --out g.run --cores 1 --threads 1 --device cuda:0 --fallback cpu", "show g.run --format json", needs="emulator")
entry("gpu-select", f"select @few.csv --kernels rbf --kernels matern12 --folds 3 --max-evals 5 {GPU} --json", needs="emulator")

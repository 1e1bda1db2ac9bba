// Runs a batch of gpfit as a Nextflow process. Copy it with batch.sh beside your spec:
//
//   nextflow run main.nf --spec study.yaml
//   nextflow run main.nf --spec study.yaml -resume
//
// Tasks have folders of their own, but a batch continues in its run directory. It is
// therefore given by its absolute path, outside of the task's folder.
nextflow.enable.dsl = 2

params.spec = null
params.allow_failed = false
params.outdir = '.'

process GPFIT_BATCH {
    tag "${spec.baseName}"
    publishDir params.outdir, mode: 'copy'
    // 12: the device is lost or busy; 130, 143: interrupted; 137: killed, often for memory.
    // The next attempt continues with the checkpoints. Other codes are mistakes or bad data.
    errorStrategy { task.exitStatus in [12, 130, 137, 143] ? 'retry' : 'finish' }
    maxRetries 2

    input:
    path spec, stageAs: 'spec/*'
    val original
    val run
    path script

    output:
    path "${spec.baseName}.results.csv"

    script:
    """
    ALLOW_FAILED=${params.allow_failed ? 1 : 0} ./${script} '${original}' '${run}' '${spec.baseName}.results.csv'
    """
}

workflow {
    if (!params.spec) {
        error "give --spec study.yaml"
    }
    spec = file(params.spec, checkIfExists: true)
    // Paths in a spec refer to its folder, so gpfit reads the original.
    run = file(params.outdir).resolve("${spec.baseName}.run").toAbsolutePath()
    GPFIT_BATCH(spec, spec.toAbsolutePath().toString(), run.toString(), file("${projectDir}/batch.sh"))
}

"""The build: the only floor that knows files.

    yaml_nodes, schema, expressions    a YAML text with its positions; reading fields and gathering problems; sizes
    deployment                         a deployment, as records
    spec, spec_parts, spec_weights     reading specs into those records
    targets, target_fields             chips: the record from the file, every figure with its source
    measured_files, target_figures     files of measurements; a target's text with other figures
    canonical, stat_cache, store       canonical msgpack; digests remembered by stat; the content-addressed store
    fingerprint                        what compiler, by content, a task would run
    models                             finding a model file, or fetching it
    gguf_file, array_files             where the tensors of weight files lie, validated
    weight_files, fills, weights       tensors as float32; seeded ones; the values of a weight, and its Q8_0 form
    executor, lock, doit_support       where work runs; one build at a time; what doit needs from us
    publish, layout                    writing and reading a deployment as an OCI image layout
    pack, link, image                  values as raw pages; programs over one memory; a bundle as blobs
    steps                              each step of a build, from bytes to bytes
    actions, workshop, pipeline        a step with its key; where work is done; what each part is made from
    deploying, artifacts               what is published; reading it, or a single file, for a command
    tasks, quality                     doit's tasks: builds; tests, benchmarks and golden figures

Modules that the task creators import load nothing heavy: numpy, gguf and the compiler are imported inside functions, so
that `doit list` stays instant.
"""

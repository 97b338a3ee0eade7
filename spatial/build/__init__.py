"""The build: the only floor that knows files.

    yaml_nodes, schema, expressions    a YAML text with its positions; reading fields and gathering problems; sizes
    spec, spec_weights, spec_parts     deployment specs: the records, and the readers that make them
    targets, target_fields             chips: the record from the file, every figure with its source
    canonical, stat_cache, store       canonical msgpack; digests remembered by stat; the content-addressed store
    fingerprint                        what compiler, by content, a task would run
    models, weight_files, weights      finding a model file; reading tensors safely; the values of a weight
    executor, lock, doit_support       where work runs; one build at a time; what doit needs from us
    publish, layout                    writing and reading a deployment as an OCI image layout

Modules that the task creators import load nothing heavy: numpy, gguf and the compiler are imported inside functions, so
that `doit list` stays instant.
"""

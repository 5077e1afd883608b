package x
// vllm serve m/x --port 1
const usage = `it's "vllm serve m/x --port 1`
var c = []string{"/bin/sh", "-c", "exec vllm serve m/x --port 1"}

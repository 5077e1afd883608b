job "vllm" {
  task "serve" {
    driver = "docker"
    config {
      image = "vllm/vllm-openai:v0.18.1"
      command = "vllm"
      args = ["serve", "org/a", "--tensor-parallel-size", "8"]
    }
  }
}

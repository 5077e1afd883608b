# sglang.launch_server runs here
variable "model" { default = "org/a" }
resource "kubernetes_deployment" "sglang" {
  spec {
    container {
      image   = "lmsysorg/sglang:v0.5.18"
      name    = "sglang"
      command = ["python3", "-m", "sglang.launch_server"]
      args = [
        "--model-path", var.model,   # the model
        "--tp-size", "8",
        "--port", "${var.port}",
      ]
    }
    container {
      image = "vllm/vllm-openai:v0.18.1"
      args  = ["--model", "org/b", "--tensor-parallel-size", "2"]
    }
  }
}
resource "aws_instance" "x" {
  user_data = <<-EOT
    #!/bin/bash
    export A=1
    docker run --gpus all lmsysorg/sglang:v0.5.18 python3 -m sglang.launch_server \
      --model-path ${var.model} --tp-size 4 --port $${PORT:-30000}
  EOT
  description = "runs vllm serve for us"
}

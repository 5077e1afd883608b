export FLASHINFER_DISABLE_VERSION_CHECK=1 SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK=1
nohup python3 -m sglang.launch_server --model-path m --tp 8 --dcp-size 4 \
  --lora-paths one=/a two=/b --stop a --stop b > server.log 2>&1 < /dev/null &

TP=8
python3 -m sglang.launch_server --model-path "a b" \
  --tp $TP

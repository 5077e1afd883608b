# As SGLang's cookbook writes its launches over two nodes.
args=$(echo -m sglang.launch_server \
  --model-path $MODEL_DIR --nnodes 2 --node-rank "$RANK" \
  --dist-init-addr $MASTER_ADDR:5000 --tp 16
)
args=($args)
python3 "${args[@]}" 2>&1 | tee $LOG/$RANK.log
# What echo prints first may be its option.
more=$(echo $FIRST --tp 8)
sglang serve m $more
# An empty variable prints nothing.
empty=
sglang serve m $(echo $empty) --tp 8

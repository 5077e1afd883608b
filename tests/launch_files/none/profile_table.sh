# sglang profiles, measured: python3 -m sglang.launch_server --tp 8
case "$PROFILE" in
  balanced) DECODE_DCP_SIZE=8; DECODE_MAMBA_RATIO=1.03 ;;
  fast) DECODE_DCP_SIZE=1 ;;
esac

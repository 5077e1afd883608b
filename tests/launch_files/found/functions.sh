launch() {
  local gpu=$1 port=$2
  shift 2
  CUDA_VISIBLE_DEVICES=$gpu python3 -m sglang.launch_server --port "$port" "$@" &
}
run() { echo "+ $*"; "$@"; }
launch 0 30000 --model-path a
launch 1 30001 --model-path b --tp 2
run sglang serve c --tp 4
never_called() { sglang serve "$1" --tp "$2"; }

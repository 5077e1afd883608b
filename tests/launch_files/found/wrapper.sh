#!/bin/bash
args=("$@")
has_flag() { for a in "${args[@]}"; do [[ "$a" == "$1" || "$a" == "$1="* ]] && return 0; done; return 1; }
has_flag --attention-backend || args+=(--attention-backend triton)
exec python3 -m sglang.launch_server ${args[@]+"${args[@]}"}

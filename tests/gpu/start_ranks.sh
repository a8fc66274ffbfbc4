#!/usr/bin/env bash
# Starts a program as the ranks of a group on this machine, with torchrun's variables:
#
#   start_ranks.sh [--one-gpu] RANKS COMMAND...
#
# --one-gpu: NCCL takes each rank for a node of its own, so that all can be on the first GPU; they
# talk over the loopback interface. The status is that of the first rank, by number, that failed.
# All ranks end with it.
set -euo pipefail

one_gpu=0
if [[ ${1:-} == --one-gpu ]]; then
  one_gpu=1
  shift
fi
if (($# < 2)); then
  echo "start_ranks.sh [--one-gpu] RANKS COMMAND..." >&2
  exit 2
fi
ranks=$1
shift

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below the ports that Linux gives to connections by itself.
find_port() {
  local port
  while port=$((20000 + RANDOM % 10000)) && is_taken "$port"; do :; done
  echo "$port"
}

children=()
# shellcheck disable=SC2317  # a trap calls it
end_all() {
  if ((${#children[@]})); then kill "${children[@]}" 2>/dev/null || true; fi
}
trap end_all EXIT
trap 'exit 143' TERM INT

export WORLD_SIZE=$ranks LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1
MASTER_PORT=$(find_port)
export MASTER_PORT
if ((one_gpu)); then
  export NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_NET=Socket
  first=${CUDA_VISIBLE_DEVICES:-0}
  export CUDA_VISIBLE_DEVICES=${first%%,*}
fi
for ((rank = 0; rank < ranks; ++rank)); do
  (
    export RANK=$rank LOCAL_RANK=$rank
    if ((one_gpu)); then export NCCL_HOSTID=rank$rank; fi
    exec "$@"
  ) </dev/null &
  children+=($!)
done

status=0
for rank in "${!children[@]}"; do
  code=0
  wait "${children[rank]}" || code=$?
  if ((status == 0)); then status=$code; fi
done
children=()
exit "$status"

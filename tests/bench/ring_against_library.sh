#!/bin/sh
# The ring plan on a backend's messages against the library's own all-reduce, in turns in one run:
# 4 ranks, 16 MiB, on the testbed at 400 Mbit/s and on this machine's loopback, with MPI and Gloo.
#
#   tests/bench/ring_against_library.sh [build/release]
set -eu
build=$(cd "${1:-build/release}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
rank="$build/bin/all_reduce_rank"
testbed="$build/bin/paceline-testbed"
in_testbed="$here/../testbed/in_testbed.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# One process a rank with torchrun's variables, each on its host where there are hosts.
cat_ranks='
for r in 0 1 2 3; do
  prefix=${PACELINE_TESTBED_PROGRAM:+$PACELINE_TESTBED_PROGRAM --enter $PACELINE_TESTBED_PID $r --}
  RANK=$r WORLD_SIZE=4 $prefix "$0" gloo "tcp://${PACELINE_HOST_ADDRESS:-127.0.0.1}:29571" 16 "$1" &
done
wait'

echo "testbed, 400 Mbit/s:"
"$testbed" --hosts 4 --rate 400Mbps --limit 300s -- "$in_testbed" sh -c \
  '$PACELINE_MPIRUN -n 4 "$0" mpi "tcp://$PACELINE_HOST_ADDRESS:29570" 16 9' "$rank"
"$testbed" --hosts 4 --rate 400Mbps --limit 300s -- "$in_testbed" sh -c "$cat_ranks" "$rank" 9
echo "loopback:"
mpirun --oversubscribe --bind-to none --mca pml ob1 --mca btl tcp,self -n 4 \
  "$rank" mpi tcp://127.0.0.1:29570 16 21
sh -c "$cat_ranks" "$rank" 21

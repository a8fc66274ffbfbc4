#!/bin/sh
# Runs a command below paceline-testbed so that paceline-worker puts a rank on each host, with Gloo
# as with MPI: paceline-testbed --hosts 4 --rate 400Mbps -- in_testbed.sh paceline run S --measure
set -eu
export PACELINE_HOST_ADDRESS="$PACELINE_TESTBED_ADDRESS_0"
# mpirun reaches the hosts as it would by ssh, and stays on their one interface.
export OMPI_MCA_plm_rsh_agent="$PACELINE_TESTBED_PROGRAM --rsh-agent"
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
export OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
hosts=host0
i=1
while [ "$i" -lt "$PACELINE_TESTBED_HOSTS" ]; do
  hosts=$hosts,host$i
  i=$((i + 1))
done
enter="$PACELINE_TESTBED_PROGRAM --enter $PACELINE_TESTBED_PID 0 --"
export PACELINE_MPIRUN="$enter mpirun --bind-to none --host $hosts"
exec "$@"

#!/usr/bin/env bash
# Runs a Slurm cluster of one node for tests. Needs root on Debian.
#
#   cluster.sh install      installs the packages if they are missing
#   cluster.sh start DIR    starts the cluster with all its files in DIR and prints
#                           the path of its configuration, for SLURM_CONF
#   cluster.sh stop DIR     stops the cluster
set -euo pipefail

case "${1:-}" in
install)
  if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
  fi
  ;;

start)
  dir=$2
  host=$(hostname -s)
  # Tasks ask for the memory of their plan; the node has a little less than this machine.
  memory=$(awk '/^MemTotal/ { print int(0.95 * $2 / 1024) }' /proc/meminfo)
  mkdir -p "$dir/state" "$dir/spool"
  if ! munge -n 2>/dev/null | unmunge >/dev/null 2>&1; then
    mkdir -p /run/munge /var/log/munge /var/lib/munge
    chown munge: /run/munge /var/log/munge /var/lib/munge
    if [ ! -s /etc/munge/munge.key ]; then
      install -o munge -g munge -m 400 /dev/null /etc/munge/munge.key
      head -c 1024 /dev/urandom >/etc/munge/munge.key
    fi
    runuser -u munge -- "$(command -v munged || echo /usr/sbin/munged)"
    touch "$dir/own-munged"
    for _ in $(seq 50); do munge -n 2>/dev/null | unmunge >/dev/null 2>&1 && break; sleep 0.1; done
    munge -n | unmunge >/dev/null
  fi
  port=$((20000 + RANDOM % 20000))
  # The node runs four tasks at a time, even if it has fewer cores.
  cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$dir/slurm.conf
  slurmctld -c >&2
  slurmd -c >&2
  for _ in $(seq 100); do
    if [ "$(sinfo -h -o %T 2>/dev/null)" = idle ]; then
      echo "$SLURM_CONF"
      exit 0
    fi
    sleep 0.2
  done
  echo "the node is not ready: $(sinfo -h -o '%T %E' 2>&1)" >&2
  tail -n 20 "$dir/slurmctld.log" "$dir/slurmd.log" >&2
  "$0" stop "$dir"
  exit 1
  ;;

stop)
  dir=$2
  # Without these signals, job steps would outlive the daemons.
  export SLURM_CONF=$dir/slurm.conf
  scancel --signal=KILL --full --user=root 2>/dev/null || true
  scancel --user=root 2>/dev/null || true
  for _ in $(seq 50); do [ -z "$(squeue --noheader --states=RUNNING,COMPLETING 2>/dev/null)" ] && break; sleep 0.2; done
  for name in slurmd slurmctld; do
    if [ -s "$dir/$name.pid" ]; then kill "$(cat "$dir/$name.pid")" 2>/dev/null || true; fi
  done
  if [ -e "$dir/own-munged" ] && [ -s /run/munge/munged.pid ]; then
    kill "$(cat /run/munge/munged.pid)" 2>/dev/null || true
  fi
  for _ in $(seq 50); do
    [ -e "$dir/slurmd.pid" ] || [ -e "$dir/slurmctld.pid" ] || break
    sleep 0.1
  done
  ;;

*)
  echo "usage: $0 install | start DIR | stop DIR" >&2
  exit 2
  ;;
esac

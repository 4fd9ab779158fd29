# shellcheck shell=bash
# Free ports, and which instance has which.

# choose_ports COMPONENT...: writes `component=port` lines to the instance.
# Under a lock, so that two instances that start at once get different ones.
choose_ports() {
  local lock components=("$@") ports index
  take_lock "$INSTANCES/.ports.lock"
  lock=$LOCK_DESCRIPTOR
  mapfile -t ports < <(free_ports "$#" "$(reserved_ports)")
  [[ ${#ports[@]} -eq $# ]] || fail "no free ports were found"
  for index in "${!components[@]}"; do
    printf '%s=%s\n' "${components[index]}" "${ports[index]}"
  done >"$STATE/ports"
  release_lock "$lock"
}

reserved_ports() { cat "$INSTANCES"/*/ports 2>/dev/null | cut -d= -f2 | tr '\n' ' '; }

# free_ports COUNT RESERVED: asks the kernel by binding. Ports that it hands to
# outgoing connections are left out: one could be taken before we listen on it.
free_ports() {
  local low high
  need perl perl-base
  read -r low high </proc/sys/net/ipv4/ip_local_port_range
  perl -MIO::Socket::INET -e '
    my ($count, $reserved, $low, $high) = @ARGV;
    my %reserved = map { $_ => 1 } split " ", $reserved;
    my @held;
    for (1 .. 10_000) {
      last if @held == $count;
      my $port = 20_000 + int rand 40_000;
      next if $reserved{$port} || ($port >= $low && $port <= $high);
      my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $port) or next;
      push @held, $socket;
    }
    print $_->sockport, "\n" for @held;
  ' "$1" "$2" "$low" "$high"
}

port_of() { sed -n "s/^$1=//p" "$STATE/ports"; }

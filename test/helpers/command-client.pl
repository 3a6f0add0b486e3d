# Has command-server.mjs run the command with these arguments, in this folder and environment, and writes what it writes.
# Arguments: the socket, node, the entry file, and the arguments of the command. In Perl, which begins in a tenth of the
# time of Node. A reader that has left ends it by SIGPIPE, as it ends any program.
use strict;
use warnings;
use Cwd;
use Socket;

my ($path, $node, $command, @args) = @ARGV;
socket(my $server, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
connect($server, sockaddr_un($path)) or die "$path: $!";
sendAll($server, join("\0", getcwd(), scalar(@args), @args, map { "$_=$ENV{$_}" } keys %ENV));
shutdown($server, 1);

# messages: a letter, the length of what follows, and that: o to stdout, e to stderr, c the exit code, b it is busy
while (1) {
  my ($kind, $length) = unpack('aN', receive(5));
  my $bytes = receive($length);
  if ($kind eq 'o') { sendAll(*STDOUT, $bytes) }
  elsif ($kind eq 'e') { sendAll(*STDERR, $bytes) }
  elsif ($kind eq 'c') { exit $bytes }
  else { exec $node, $command, @args or die "$node: $!" }
}

sub receive {
  my ($wanted) = @_;
  my $bytes = '';
  while (length($bytes) < $wanted) {
    sysread($server, $bytes, $wanted - length($bytes), length($bytes)) or die 'the command has broken down';
  }
  return $bytes;
}

sub sendAll {
  my ($to, $bytes) = @_;
  my $sent = 0;
  while ($sent < length($bytes)) {
    my $more = syswrite($to, $bytes, length($bytes) - $sent, $sent);
    if (defined $more) { $sent += $more }
    elsif (!$!{EAGAIN}) { die "cannot write: $!" }
  }
}

#!/bin/sh
# A remote shell without another host: HOST COMMAND runs the command here, in a session of its own
# and with little of the environment, as sshd would. The host "nowhere" is not reached, and "mute"
# never answers.
case $1 in
  nowhere) echo "fake_rsh: connect to host nowhere: No route to host" >&2; exit 255 ;;
  mute) exec sleep 1000 ;;
esac
exec setsid -w env -i PATH="$PATH" HOME="$HOME" LAUNCHERS_TEST_MARK="$LAUNCHERS_TEST_MARK" \
  FAKE_RSH_HOST="$1" sh -c "$2"

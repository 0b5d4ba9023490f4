#!/bin/sh
# run PLUGIN [FLAGS OF GINKGO]: the specs of one plugin, with what plugins keep on
# a machine hidden behind empty file systems.
here=$(dirname "$(readlink -f "$0")")
plugin=$1
shift
export PATH="$here/bin:$PATH"
cd "$(echo "$here"/source/plugins/*/"$plugin")" || exit 1
exec unshare --mount --net --propagation private sh -c '
	mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mount -t sysfs sysfs /sys && mkdir /run/netns &&
	ip link set lo up && exec "$@"' specs "$here/$plugin.test" --ginkgo.no-color --ginkgo.succinct "$@"

#!/bin/sh
# Run chapters on an emulated 64-bit ARM, Debian 12 under qemu, as root: sh tools/arm64.sh [02 13 ...]
# First: apt install qemu-user-static debootstrap binfmt-support; .venv/bin/pip install uv
# Takes half an hour and 8 GB to set up, then minutes a chapter; a second call reuses the machine.
set -eu
root=${ARM64_ROOT:-$PWD/build/arm64}
uv="${VENV:-.venv}/bin/python -m uv pip"
for_arm="--only-binary :all: --python-version 3.11 --python-platform aarch64-manylinux_2_28"

binfmt=/proc/sys/fs/binfmt_misc
[ -e $binfmt/register ] || mount -t binfmt_misc binfmt_misc $binfmt
update-binfmts --enable qemu-aarch64 2>/dev/null

if [ ! -e "$root/ready" ]; then
    debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,libgomp1 bookworm "$root"
    chroot "$root" /debootstrap/debootstrap --second-stage
    $uv compile -q $for_arm -c requirements.lock --extra lab --extra test pyproject.toml -o "$root/pins.txt"
    $uv install $for_arm --no-deps --target "$root/site" -r "$root/pins.txt"
    touch "$root/ready"
fi

# A processor without SVE: with it, qemu 7.2 multiplies matrices wrongly ((x @ x.T)[0, 0] was 0).
rm -rf "$root/series" && mkdir "$root/series"
git archive HEAD mha_utils tools notebooks benchmarks | tar -x -C "$root/series"
chroot "$root" env QEMU_CPU=cortex-a72 PYTHONPATH=/site:/series OMP_NUM_THREADS=1 HOME=/tmp \
    sh -c 'cd /series && python3 -m tools.suite.chapter_runner "$@"' sh "$@"

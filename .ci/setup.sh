#!/usr/bin/env bash
# Installs the system packages that are missing; does nothing, and needs no rights, when all are there.
# OpenCV for table finding and detection, the ffmpeg libraries for video, libclang for the bindings of both, and the
# ffmpeg program with which the tests make their clips.
set -euo pipefail
packages=(libopencv-dev libavcodec-dev libavformat-dev libavutil-dev libavfilter-dev libavdevice-dev libswscale-dev
    libswresample-dev libclang-dev clang pkg-config ffmpeg)

missing=()
for package in "${packages[@]}"; do
    if ! dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
        missing+=("$package")
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "installing: ${missing[*]}"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
